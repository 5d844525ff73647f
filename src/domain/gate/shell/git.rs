//! Which git commands read only.
//!
//! Configuration given on the command line, pagers, external diffs and output files are refused by
//! the beginning of the option's name, since git takes any unique abbreviation.

use crate::domain::gate::facts::Word;

/// Subcommands that read, whatever their operands.
pub(super) const READS: &[&str] = &[
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "annotate",
    "shortlog",
    "whatchanged",
    "describe",
    "rev-parse",
    "rev-list",
    "ls-files",
    "ls-tree",
    "cat-file",
    "for-each-ref",
    "show-ref",
    "show-branch",
    "merge-base",
    "name-rev",
    "count-objects",
    "diff-files",
    "diff-index",
    "diff-tree",
    "grep",
    "check-ignore",
    "check-attr",
    "check-ref-format",
    "cherry",
    "range-diff",
    "get-tar-commit-id",
    "version",
    "var",
    "check-mailmap",
    "stripspace",
    "patch-id",
    "verify-commit",
    "verify-tag",
    "merge-tree",
    "fsck",
];

/// Long options that write, run or connect, without their dashes.
const REFUSED: &[&str] = &[
    "output",
    "ext-diff",
    "textconv",
    "open-files-in-pager",
    "upload-pack",
    "receive-pack",
    "exec",
    "filters",
    "contents",
    "paginate",
    "config-env",
    "exec-path",
    "git-dir",
    "work-tree",
    "super-prefix",
    "edit",
    "write-bitmap",
    "lost-found",
    "web",
    "output-directory",
    "write-tree",
    "file",
    "remote",
];

/// Returns what speaks against a git command; `None` when it reads only.
pub fn judge(args: &[Word], appended: bool) -> Option<String> {
    let texts: Option<Vec<&str>> = args.iter().map(|word| word.value.as_deref()).collect();
    let Some(texts) = texts else { return Some("What git is given is known only at run time.".to_string()) };
    // A pattern is what it matches by then: an option, or what is done.
    let before_names = args.iter().take_while(|word| word.value.as_deref() != Some("--"));
    let patterns: Vec<&str> = before_names.filter(|word| word.glob).filter_map(|word| word.value.as_deref()).collect();
    if let Some(pattern) = patterns.iter().find(|text| text.starts_with('-')) {
        return Some(format!("“git … {}” could be any option.", super::clip(pattern)));
    }
    let mut rest = texts.as_slice();
    loop {
        match rest {
            ["-C", _, tail @ ..] => rest = tail,
            ["-c", setting, tail @ ..] if looks_only(setting) => rest = tail,
            [
                "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" | "--no-replace-objects",
                tail @ ..,
            ] => rest = tail,
            ["--version" | "--help" | "-v" | "-h"] | [] if !appended => return None,
            [option, ..] if option.starts_with('-') => {
                return Some(format!("“git {}” can change what git runs.", super::clip(option)));
            }
            _ => break,
        }
    }
    if appended {
        return Some("git would be given options that are known only at run time.".to_string());
    }
    let [sub, tail @ ..] = rest else {
        return Some("Which git command is meant, is known only at run time.".to_string());
    };
    if let Some(option) = tail.iter().take_while(|text| **text != "--").find(|text| refused(sub, text)) {
        return Some(format!("“git {sub} {}” does more than read.", super::clip(option)));
    }
    let lists = matches!(*sub, "branch" | "tag");
    if READS.contains(sub) || (patterns.is_empty() || lists) && reads_with(sub, tail) {
        return None;
    }
    Some(format!("“git {}” changes the repository or reaches out.", super::clip(sub)))
}

/// Settings that change only how output looks.
fn looks_only(setting: &str) -> bool {
    const NAMES: &[&str] = &[
        "core.quotepath",
        "log.date",
        "log.decorate",
        "log.showsignature",
        "diff.renames",
        "diff.renamelimit",
        "diff.noprefix",
        "diff.mnemonicprefix",
        "diff.context",
        "diff.algorithm",
        "grep.linenumber",
        "column.ui",
        "status.short",
        "status.branch",
    ];
    let Some((name, value)) = setting.split_once('=') else { return false };
    let name = name.to_ascii_lowercase();
    let no_pager =
        (name == "core.pager" && value == "cat") || (name.starts_with("pager.") && matches!(value, "false" | "cat"));
    no_pager || NAMES.contains(&name.as_str()) || name.starts_with("color.") || name.starts_with("advice.")
}

fn refused(sub: &str, text: &str) -> bool {
    if let Some(long) = text.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        // `--o` could be meant as `--output`; `--output-indicator-new` could not.
        return !name.is_empty()
            && name != "e"
            && REFUSED.iter().any(|refused| refused.starts_with(name) && !allowed_prefix(sub, name));
    }
    let short = text.strip_prefix('-').unwrap_or("");
    matches!(sub, "grep")
        && short.chars().take_while(|c| !matches!(c, 'e' | 'f' | 'A' | 'B' | 'C' | 'm')).any(|c| c == 'O')
}

/// Whole option names that happen to begin a refused one.
fn allowed_prefix(sub: &str, name: &str) -> bool {
    matches!((sub, name), ("ls-files", "exclude" | "others") | ("branch", "remotes") | ("rev-list" | "log", "remotes"))
}

fn reads_with(sub: &str, tail: &[&str]) -> bool {
    let plain = |allowed: &[&str]| tail.iter().all(|text| allowed.contains(&text.split('=').next().unwrap_or(text)));
    let first = tail.first().copied().unwrap_or("");
    match sub {
        "tag" if tail.iter().any(|text| matches!(*text, "-a" | "-r" | "-v" | "-vv" | "--verbose")) => false,
        "branch" | "tag" => {
            const SHOWS: &[&str] = &[
                "-a",
                "-r",
                "-v",
                "-vv",
                "-l",
                "--list",
                "--all",
                "--remotes",
                "--verbose",
                "--merged",
                "--no-merged",
                "--contains",
                "--no-contains",
                "--show-current",
                "--sort",
                "--format",
                "--column",
                "--no-column",
                "--color",
                "--no-color",
                "--points-at",
                "-n",
                "--ignore-case",
                "-i",
                "--abbrev",
                "--no-abbrev",
            ];
            let options = tail.iter().filter(|text| text.starts_with('-'));
            let lists = ["-l", "--list", "--merged", "--no-merged", "--contains", "--no-contains", "--points-at"];
            let operands = tail.iter().any(|text| !text.starts_with('-'));
            let known = options.clone().all(|text| {
                let name = text.split('=').next().unwrap_or(text);
                SHOWS.contains(&name)
                    || (sub == "tag" && name.strip_prefix("-n").is_some_and(|n| n.chars().all(|c| c.is_ascii_digit())))
            });
            let listing = tail.iter().any(|text| lists.contains(&text.split('=').next().unwrap_or(text)));
            // `git branch --sort key` takes its value as the next word: without a listing option it asks.
            known && (!operands || listing)
        }
        "remote" => matches!(
            tail,
            [] | ["-v" | "--verbose" | "show"]
                | ["get-url", _]
                | ["show", "-n", _]
                | ["get-url", "--all" | "--push", _]
        ),
        "stash" => matches!(first, "list" | "show"),
        "reflog" => {
            matches!(first, "" | "show" | "exists")
                || first.starts_with('-')
                || (tail.len() == 1 && !matches!(first, "expire" | "delete" | "drop" | "write"))
        }
        "config" => shows_settings(tail),
        "submodule" => matches!(first, "" | "status" | "summary"),
        "worktree" => first == "list",
        "notes" => matches!(first, "list" | "show"),
        "bisect" => matches!(first, "log"),
        "lfs" => matches!(first, "ls-files" | "status" | "env"),
        "symbolic-ref" => {
            let names = tail.iter().filter(|text| !text.starts_with('-')).count();
            names == 1 && tail.iter().all(|text| !text.starts_with('-') || ["--short", "-q", "--quiet"].contains(text))
        }
        "help" => tail.iter().all(|text| !text.starts_with('-') || ["-a", "-g", "--all", "--guides"].contains(text)),
        "ls-remote" => first == "--get-url" && tail.len() <= 2,
        "rerere" => matches!(first, "status" | "diff" | "remaining"),
        "sparse-checkout" => first == "list",
        "bundle" => matches!(first, "verify" | "list-heads"),
        "archive" => plain(&["--list", "-l"]) && !tail.is_empty(),
        _ => false,
    }
}

/// Whether `git config` only shows: its options stand first, and what they ask for decides; a word behind them that looks
/// like one is the value that would be set.
fn shows_settings(tail: &[&str]) -> bool {
    const ASKS: &[&str] = &["--list", "-l", "--get", "--get-all", "--get-regexp", "--get-urlmatch"];
    const CHOOSES: &[&str] = &[
        "--show-origin",
        "--show-scope",
        "--name-only",
        "--global",
        "--local",
        "--system",
        "--worktree",
        "-z",
        "--null",
        "--type",
        "--bool",
        "--int",
        "--path",
        "--includes",
        "--no-includes",
        "--all",
        "--regexp",
    ];
    let chooses = |text: &str| CHOOSES.contains(&text.split('=').next().unwrap_or(""));
    let word = |text: &&str| !text.starts_with('-');
    let shows = |words: &[&str]| words.iter().all(|text| word(text) || chooses(text));
    match tail {
        ["list", rest @ ..] => shows(rest) && !rest.iter().any(word),
        ["get", rest @ ..] => shows(rest) && rest.iter().filter(|text| word(text)).count() == 1,
        _ => {
            let options = tail.iter().take_while(|text| !word(text)).count();
            let (options, words) = tail.split_at(options);
            let known = options.iter().all(|text| ASKS.contains(text) || chooses(text));
            let asks = options.iter().any(|text| ASKS.contains(text));
            // A name alone is looked up.
            known && words.iter().all(word) && (asks || matches!(words, [name] if name.contains('.')))
        }
    }
}

/// Whether a git command shows what stands in the files that it is given, and not only their names and states.
pub fn prints(args: &[Word]) -> bool {
    let texts: Option<Vec<&str>> = args.iter().map(|word| word.value.as_deref()).collect();
    let Some(texts) = texts else { return true };
    let mut rest = texts.as_slice();
    while let [option, tail @ ..] = rest
        && option.starts_with('-')
    {
        rest = if matches!(*option, "-C" | "-c") { tail.get(1..).unwrap_or(&[]) } else { tail };
    }
    let [sub, tail @ ..] = rest else { return false };
    let patch = |text: &&str| {
        let begins = ["-p", "-u", "-U", "-L", "-c", "-m", "-W", "-G", "-S", "-z"];
        let long =
            ["--p", "--cc", "--word", "--color-w", "--full-d", "--fun", "--bin", "--rem", "--raw", "--un", "--diff"];
        let format = text.starts_with("--pretty");
        !format && begins.iter().chain(&long).any(|begin| text.starts_with(begin))
    };
    match *sub {
        "check-ignore" | "check-attr" | "ls-files" | "ls-tree" | "status" | "rm" | "mv" | "add" | "restore"
        | "reset" | "checkout" | "commit" | "update-index" => {
            tail.iter().any(|text| text.starts_with("-p") || text.starts_with("--p"))
        }
        "log" | "rev-list" | "shortlog" | "whatchanged" => tail.iter().take_while(|text| **text != "--").any(patch),
        _ => true,
    }
}
