//! The programs that are known to read only, and the options with which they do.
//!
//! `Any` is for programs none of whose options writes, runs or connects in the implementations of
//! GNU, BusyBox and the BSDs. `But` names those that do; `Only` lists all that are harmless.

use super::git;
use super::options::{Options, operands};
use super::{Concern, Harm, effect, scripts, value};
use crate::domain::gate::facts::Word;

/// Which options are harmless.
enum Flags {
    /// All of them.
    Any,
    /// All but these: letters, long names, and the letters that take a value.
    But { short: &'static str, long: &'static [&'static str], valued: &'static str },
    /// These alone, and at most so many operands.
    Only(Options, usize),
    /// No rule by table: a function knows.
    Own(fn(&[Word], bool) -> Option<String>),
}

/// What the operands are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Text: no file is opened for it.
    Text,
    /// Files whose names, sizes or types are shown, not their content.
    Listed,
    /// Files that are read.
    Read,
    /// A pattern or a small program, then files that are read.
    PatternRead,
}

struct Program {
    names: &'static [&'static str],
    flags: Flags,
    operands: Operands,
}

const ANY: Flags = Flags::Any;

const PROGRAMS: &[Program] = &[
    Program {
        names: &[
            "echo",
            "true",
            "false",
            ":",
            "sleep",
            "seq",
            "factor",
            "numfmt",
            "basename",
            "dirname",
            "uptime",
            "free",
            "ps",
            "pstree",
            "pgrep",
            "pidof",
            "w",
            "who",
            "users",
            "id",
            "groups",
            "whoami",
            "logname",
            "tty",
            "nproc",
            "uname",
            "getconf",
            "locale",
            "lscpu",
            "lsmod",
            "lspci",
            "lsusb",
            "vmstat",
            "iostat",
            "mpstat",
            "top",
            "type",
            "which",
            "whereis",
            "whatis",
            "apropos",
            "command",
            "env",
            "printenv",
            "tldr",
            "cal",
            "ncal",
            "expr",
            "pwd",
            "tput",
            "sw_vers",
            "netstat",
            "help",
            "uuidgen",
            "mesg",
            "lsb_release",
            "hostid",
            "runlevel",
            "jobs",
            "times",
            "dirs",
            "builtin",
            "last",
            "lastlog",
            "nice",
            "timeout",
            "time",
            "ionice",
            "stdbuf",
            "busybox",
            "toybox",
            "xargs",
            "exit",
            "return",
            "break",
            "continue",
            "pathchk",
            "clear",
        ],
        flags: ANY,
        operands: Operands::Text,
    },
    Program {
        names: &[
            "ls",
            "dir",
            "vdir",
            "stat",
            "du",
            "df",
            "readlink",
            "realpath",
            "exa",
            "eza",
            "lsd",
            "cd",
            "lsblk",
            "findmnt",
            "blkid",
            "namei",
            "mountpoint",
            "locate",
            "mdfind",
            "pushd",
            "popd",
            "getfacl",
            "lsattr",
            "sync",
        ],
        flags: ANY,
        operands: Operands::Listed,
    },
    Program {
        names: &["tree"],
        flags: Flags::But { short: "oR", long: &["output"], valued: "LPIHT" },
        operands: Operands::Listed,
    },
    Program {
        names: &["file"],
        flags: Flags::But { short: "C", long: &["compile"], valued: "feFmPM" },
        operands: Operands::Listed,
    },
    Program {
        names: &[
            "cat",
            "tac",
            "nl",
            "wc",
            "head",
            "tail",
            "cut",
            "paste",
            "join",
            "comm",
            "fold",
            "rev",
            "expand",
            "unexpand",
            "fmt",
            "pr",
            "od",
            "hexdump",
            "hd",
            "strings",
            "cksum",
            "sum",
            "md5sum",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "b2sum",
            "md5",
            "md5deep",
            "cmp",
            "diff",
            "colordiff",
            "zcat",
            "bzcat",
            "xzcat",
            "zstdcat",
            "lz4cat",
            "gzcat",
            "column",
            "tsort",
            "nm",
            "objdump",
            "readelf",
            "size",
            "zdiff",
            "zcmp",
            "base32",
            "basenc",
            "look",
            "cloc",
            "tokei",
        ],
        flags: ANY,
        operands: Operands::Read,
    },
    Program { names: &["shasum"], flags: ANY, operands: Operands::Read },
    Program {
        names: &["arch"],
        flags: Flags::Only(Options { short: "", valued: "", long: &["help", "version"], long_valued: &[] }, 0),
        operands: Operands::Text,
    },
    Program { names: &["tr"], flags: ANY, operands: Operands::Text },
    Program {
        names: &["grep", "egrep", "fgrep", "zgrep", "bzgrep", "xzgrep", "zegrep", "zfgrep"],
        flags: ANY,
        operands: Operands::PatternRead,
    },
    Program {
        names: &["base64"],
        flags: Flags::But { short: "o", long: &["output"], valued: "wbi" },
        operands: Operands::Read,
    },
    Program {
        names: &["bat", "batcat"],
        flags: Flags::But {
            short: "",
            long: &["pager", "diff", "config-file", "generate-config-file"],
            valued: "lHrm",
        },
        operands: Operands::Read,
    },
    Program {
        names: &["rg", "ripgrep"],
        flags: Flags::But { short: "z", long: &["pre", "hostname-bin", "search-zip"], valued: "efgtTmjABCEMr" },
        operands: Operands::PatternRead,
    },
    Program {
        names: &["ag"],
        flags: Flags::But { short: "z", long: &["pager", "search-zip"], valued: "ABCGmgp" },
        operands: Operands::PatternRead,
    },
    Program {
        names: &["fd", "fdfind"],
        flags: Flags::But { short: "xX", long: &["exec", "exec-batch"], valued: "deEtScjog" },
        operands: Operands::Listed,
    },
    Program {
        names: &["diff3"],
        flags: Flags::But { short: "", long: &["diff-program"], valued: "L" },
        operands: Operands::Read,
    },
    Program {
        names: &["journalctl"],
        flags: Flags::But {
            short: "",
            long: &[
                "vacuum-size",
                "vacuum-time",
                "vacuum-files",
                "rotate",
                "flush",
                "sync",
                "update-catalog",
                "setup-keys",
                "relinquish-var",
                "smart-relinquish-var",
                "cursor-file",
                "directory",
                "file",
                "root",
                "image",
            ],
            valued: "unpotgSUDMbc",
        },
        operands: Operands::Text,
    },
    Program {
        names: &["dmesg"],
        flags: Flags::But {
            short: "CcDEn",
            long: &["clear", "read-clear", "console-off", "console-on", "console-level", "file", "kmsg-file"],
            valued: "flsF",
        },
        operands: Operands::Text,
    },
    Program {
        names: &["ss"],
        flags: Flags::But { short: "KDF", long: &["kill", "diag", "filter"], valued: "fAN" },
        operands: Operands::Text,
    },
    Program {
        names: &["lsof"],
        flags: Flags::But { short: "", long: &[], valued: "pucdisgF" },
        operands: Operands::Listed,
    },
    Program {
        names: &["man"],
        flags: Flags::But {
            short: "PHTXlCp",
            long: &["pager", "html", "troff-device", "gxditview", "local-file", "config-file", "preprocessor"],
            valued: "SsmLMRer",
        },
        operands: Operands::Text,
    },
    Program { names: &["printf"], flags: Flags::But { short: "v", long: &[], valued: "" }, operands: Operands::Text },
    Program { names: &["getent"], flags: Flags::Own(getent), operands: Operands::Text },
    Program { names: &["test", "["], flags: Flags::Own(test), operands: Operands::Listed },
    Program { names: &["date", "gdate"], flags: Flags::Own(date), operands: Operands::Text },
    Program {
        names: &["history"],
        flags: Flags::Only(Options { short: "", valued: "", long: &[], long_valued: &[] }, 1),
        operands: Operands::Text,
    },
    Program {
        names: &["hostname"],
        flags: Flags::Only(
            Options {
                short: "IifsdAyaV",
                valued: "",
                long: &[
                    "all-ip-addresses",
                    "ip-address",
                    "fqdn",
                    "long",
                    "short",
                    "domain",
                    "alias",
                    "version",
                    "help",
                ],
                long_valued: &[],
            },
            0,
        ),
        operands: Operands::Text,
    },
    Program {
        names: &["hostnamectl", "timedatectl", "localectl"],
        flags: Flags::Own(status_only),
        operands: Operands::Text,
    },
    Program {
        names: &["ifconfig"],
        flags: Flags::Only(Options { short: "aslv", valued: "", long: &[], long_valued: &[] }, 1),
        operands: Operands::Text,
    },
    Program {
        names: &["mount"],
        flags: Flags::Only(
            Options {
                short: "lvV",
                valued: "t",
                long: &["show-labels", "verbose", "version", "help"],
                long_valued: &["types"],
            },
            0,
        ),
        operands: Operands::Text,
    },
    Program {
        names: &["uniq"],
        flags: Flags::Only(
            Options {
                short: "cdDiuz0123456789",
                valued: "fsw",
                long: &[
                    "count",
                    "repeated",
                    "all-repeated",
                    "all-repeat",
                    "group",
                    "ignore-case",
                    "unique",
                    "zero-terminated",
                    "help",
                    "version",
                ],
                long_valued: &["skip-fields", "skip-chars", "check-chars"],
            },
            1,
        ),
        operands: Operands::Read,
    },
    Program {
        names: &["xxd"],
        flags: Flags::Only(Options { short: "abeEipuCdv", valued: "cglnos", long: &[], long_valued: &[] }, 1),
        operands: Operands::Read,
    },
    Program {
        names: &["sort", "gsort"],
        flags: Flags::Only(
            Options {
                short: "bdfghiMnRrVcCmsuz",
                valued: "ktSB",
                long: &[
                    "ignore-leading-blanks",
                    "dictionary-order",
                    "ignore-case",
                    "general-numeric-sort",
                    "ignore-nonprinting",
                    "month-sort",
                    "human-numeric-sort",
                    "numeric-sort",
                    "random-sort",
                    "reverse",
                    "version-sort",
                    "check",
                    "merge",
                    "stable",
                    "unique",
                    "zero-terminated",
                    "debug",
                    "help",
                    "version",
                ],
                long_valued: &["key", "field-separator", "buffer-size", "parallel", "sort", "batch-size"],
            },
            usize::MAX,
        ),
        operands: Operands::Read,
    },
    Program {
        names: &["shuf"],
        flags: Flags::Only(
            Options {
                short: "erz",
                valued: "in",
                long: &["echo", "repeat", "zero-terminated"],
                long_valued: &["input-range", "head-count"],
            },
            usize::MAX,
        ),
        operands: Operands::Read,
    },
    Program {
        names: &["iconv"],
        flags: Flags::Only(
            Options { short: "cls", valued: "ft", long: &["list", "silent"], long_valued: &["from-code", "to-code"] },
            usize::MAX,
        ),
        operands: Operands::Read,
    },
    Program {
        names: &["bc"],
        flags: Flags::Only(
            Options { short: "lqsw", valued: "", long: &["mathlib", "quiet", "standard"], long_valued: &[] },
            0,
        ),
        operands: Operands::Text,
    },
    Program { names: &["jq", "gojq"], flags: Flags::Own(jq), operands: Operands::PatternRead },
    Program { names: &["unzip"], flags: Flags::Own(unzip), operands: Operands::Listed },
    Program { names: &["zipinfo"], flags: ANY, operands: Operands::Listed },
    Program { names: &["gzip", "xz", "bzip2", "zstd"], flags: Flags::Own(lists_archive), operands: Operands::Listed },
    Program { names: &["tar", "bsdtar", "gtar"], flags: Flags::Own(tar), operands: Operands::Listed },
    Program {
        names: &["dpkg", "dpkg-query"],
        flags: Flags::Only(
            Options {
                short: "lLsSWpV",
                valued: "f",
                long: &[
                    "list",
                    "listfiles",
                    "status",
                    "search",
                    "show",
                    "print-avail",
                    "verify",
                    "version",
                    "help",
                    "get-selections",
                    "print-architecture",
                ],
                long_valued: &["showformat"],
            },
            usize::MAX,
        ),
        operands: Operands::Text,
    },
    Program {
        names: &["pacman"],
        flags: Flags::Only(
            Options { short: "Qieqlmnokpst", valued: "", long: &["query", "info", "list", "owns"], long_valued: &[] },
            usize::MAX,
        ),
        operands: Operands::Text,
    },
    Program { names: &["find", "gfind"], flags: Flags::Own(find), operands: Operands::Listed },
    Program { names: &["sed", "gsed"], flags: Flags::Own(scripts::sed), operands: Operands::PatternRead },
    Program {
        names: &["awk", "gawk", "mawk", "nawk"],
        flags: Flags::Own(scripts::awk),
        operands: Operands::PatternRead,
    },
    Program { names: &["git"], flags: Flags::Own(git::judge), operands: Operands::Read },
    Program { names: &["ip"], flags: Flags::Own(ip), operands: Operands::Text },
];

/// Programs that are harmless when asked for their version or help alone.
const TELLS: &[&str] = &[
    "python",
    "python3",
    "python2",
    "node",
    "nodejs",
    "npm",
    "npx",
    "pip",
    "pip3",
    "cargo",
    "rustc",
    "rustup",
    "go",
    "java",
    "javac",
    "ruby",
    "gem",
    "perl",
    "php",
    "gcc",
    "g++",
    "cc",
    "clang",
    "make",
    "cmake",
    "docker",
    "kubectl",
    "helm",
    "terraform",
    "gh",
    "aws",
    "gcloud",
    "az",
    "bash",
    "zsh",
    "sh",
    "tmux",
    "vim",
    "nvim",
    "ssh",
    "curl",
    "wget",
    "openssl",
    "sqlite3",
    "psql",
    "mysql",
    "jq",
    "yq",
    "brew",
    "apt",
    "dpkg",
    "deno",
    "bun",
    "uv",
    "poetry",
    "pytest",
    "ruff",
    "black",
    "mypy",
    "eslint",
    "tsc",
    "yarn",
    "pnpm",
    "gpg",
    "rsync",
    "ansible",
    "podman",
    "tee",
    "cp",
    "mv",
    "rm",
    "mkdir",
    "touch",
    "ln",
    "chmod",
    "chown",
    "dd",
    "split",
    "xz",
    "gzip",
    "zip",
    "unzip",
    "systemctl",
    "journalctl",
    "ffmpeg",
    "convert",
    "pandoc",
    "gdb",
    "strace",
    "lua",
    "ghc",
    "stack",
    "swift",
    "dotnet",
    "mvn",
    "gradle",
    "tsx",
    "prettier",
];

/// A program with subcommands: those that read, options before them, and words that are refused.
struct Family {
    name: &'static str,
    reads: &'static [&'static str],
    globals: Options,
    refused: &'static [&'static str],
}

const NO_GLOBALS: Options = Options { short: "", valued: "", long: &[], long_valued: &[] };

const FAMILIES: &[Family] = &[
    Family {
        name: "cargo",
        reads: &["tree", "help", "metadata", "pkgid", "locate-project", "version", "read-manifest", "verify-project"],
        globals: NO_GLOBALS,
        refused: &["--config", "--config="],
    },
    Family {
        name: "rustup",
        reads: &["which", "help", "show", "toolchain list", "target list", "component list", "--help"],
        globals: NO_GLOBALS,
        refused: &[],
    },
    Family { name: "go", reads: &["version", "help"], globals: NO_GLOBALS, refused: &[] },
    Family {
        name: "npm",
        reads: &[
            "ls",
            "list",
            "ll",
            "la",
            "view",
            "info",
            "show",
            "v",
            "outdated",
            "whoami",
            "help",
            "help-search",
            "prefix",
            "root",
            "bin",
            "ping",
            "explain",
            "why",
            "fund",
            "search",
            "find",
            "query",
            "config list",
            "config get",
            "config ls",
            "get",
        ],
        globals: NO_GLOBALS,
        refused: &["--script-shell", "--userconfig", "--globalconfig"],
    },
    Family { name: "yarn", reads: &["list", "why", "info", "outdated", "licenses"], globals: NO_GLOBALS, refused: &[] },
    Family { name: "pnpm", reads: &["list", "ls", "why", "outdated"], globals: NO_GLOBALS, refused: &[] },
    Family {
        name: "pip",
        reads: &["list", "show", "freeze", "help", "check", "inspect", "debug", "index versions"],
        globals: NO_GLOBALS,
        refused: &[
            "--log",
            "--python",
            "--config-settings",
            "--index-url",
            "-i",
            "--extra-index-url",
            "--proxy",
            "--trusted-host",
        ],
    },
    Family {
        name: "pip3",
        reads: &["list", "show", "freeze", "help", "check"],
        globals: NO_GLOBALS,
        refused: &["--log", "--python", "--index-url", "-i", "--extra-index-url", "--proxy"],
    },
    Family {
        name: "gem",
        reads: &["list", "info", "environment", "contents", "which", "dependency", "help"],
        globals: NO_GLOBALS,
        refused: &[],
    },
    Family {
        name: "brew",
        reads: &[
            "list",
            "ls",
            "info",
            "deps",
            "uses",
            "outdated",
            "search",
            "config",
            "doctor",
            "leaves",
            "desc",
            "--prefix",
            "--version",
            "--cellar",
            "casks",
            "formulae",
        ],
        globals: NO_GLOBALS,
        refused: &[],
    },
    Family {
        name: "apt",
        reads: &["list", "show", "search", "policy", "depends", "rdepends"],
        globals: NO_GLOBALS,
        refused: &["-o", "-c", "--option", "--config-file"],
    },
    Family {
        name: "apt-cache",
        reads: &["show", "search", "policy", "depends", "rdepends", "showpkg", "stats", "madison", "pkgnames"],
        globals: NO_GLOBALS,
        refused: &["-o", "-c", "--option", "--config-file"],
    },
    Family { name: "snap", reads: &["list", "info", "version"], globals: NO_GLOBALS, refused: &[] },
    Family { name: "flatpak", reads: &["list", "info", "remotes", "history"], globals: NO_GLOBALS, refused: &[] },
    Family {
        name: "docker",
        reads: &[
            "ps",
            "images",
            "logs",
            "inspect",
            "info",
            "version",
            "diff",
            "history",
            "stats",
            "top",
            "port",
            "container ls",
            "container list",
            "container ps",
            "container inspect",
            "container logs",
            "container stats",
            "container top",
            "container diff",
            "container port",
            "image ls",
            "image list",
            "image inspect",
            "image history",
            "network ls",
            "network list",
            "network inspect",
            "volume ls",
            "volume list",
            "volume inspect",
            "compose ps",
            "compose logs",
            "compose config",
            "compose ls",
            "compose images",
            "compose top",
            "compose version",
            "system df",
            "system info",
            "context ls",
            "context show",
            "search",
            "events",
            "node ls",
            "service ls",
            "stack ls",
            "buildx ls",
            "manifest inspect",
        ],
        globals: NO_GLOBALS,
        refused: &["-o", "--output"],
    },
    Family {
        name: "podman",
        reads: &["ps", "images", "logs", "inspect", "info", "version", "diff", "history", "stats", "top", "port"],
        globals: NO_GLOBALS,
        refused: &[],
    },
    Family {
        name: "kubectl",
        reads: &[
            "get",
            "describe",
            "logs",
            "version",
            "api-resources",
            "api-versions",
            "cluster-info",
            "top",
            "explain",
            "config current-context",
            "config get-contexts",
            "config get-clusters",
            "rollout status",
            "rollout history",
            "auth can-i",
            "auth whoami",
            "events",
        ],
        globals: Options { short: "", valued: "n", long: &[], long_valued: &["namespace", "context"] },
        refused: &["secret", "secrets", "--kubeconfig", "--server", "-s", "--token", "--as", "--raw"],
    },
    Family {
        name: "helm",
        reads: &[
            "list",
            "ls",
            "status",
            "history",
            "search",
            "show",
            "version",
            "repo list",
            "get notes",
            "get manifest",
            "help",
        ],
        globals: NO_GLOBALS,
        refused: &["--post-renderer", "--kubeconfig"],
    },
    Family {
        name: "terraform",
        reads: &["version", "providers", "state list", "workspace list", "workspace show", "validate"],
        globals: NO_GLOBALS,
        refused: &[],
    },
    Family {
        name: "gh",
        reads: &[
            "pr list",
            "pr view",
            "pr diff",
            "pr checks",
            "pr status",
            "issue list",
            "issue view",
            "issue status",
            "run list",
            "run view",
            "workflow list",
            "workflow view",
            "release list",
            "release view",
            "repo list",
            "repo view",
            "gist list",
            "label list",
            "cache list",
            "search",
            "status",
            "org list",
            "ruleset list",
            "ruleset view",
            "help",
            "version",
        ],
        globals: NO_GLOBALS,
        refused: &[],
    },
    Family {
        name: "glab",
        reads: &["mr list", "mr view", "mr diff", "issue list", "issue view", "ci list", "ci status", "repo view"],
        globals: NO_GLOBALS,
        refused: &[],
    },
    Family {
        name: "systemctl",
        reads: &[
            "status",
            "is-active",
            "is-enabled",
            "is-failed",
            "is-system-running",
            "list-units",
            "list-unit-files",
            "list-timers",
            "list-sockets",
            "list-dependencies",
            "list-jobs",
            "show",
            "cat",
            "get-default",
            "--version",
        ],
        globals: Options {
            short: "",
            valued: "t",
            long: &["user", "all", "no-pager", "failed"],
            long_valued: &["type", "state"],
        },
        refused: &["-H", "--host", "-M", "--machine", "--root", "--image"],
    },
    Family { name: "service", reads: &["--status-all"], globals: NO_GLOBALS, refused: &[] },
    Family { name: "launchctl", reads: &["list", "print", "blame", "version"], globals: NO_GLOBALS, refused: &[] },
    Family {
        name: "tmux",
        reads: &["ls", "list-sessions", "list-windows", "list-panes", "info"],
        globals: NO_GLOBALS,
        refused: &[],
    },
];

/// Returns what speaks against a program with these arguments; nothing when it is known to read only.
pub fn judge(name: &str, args: &[Word], appended: bool) -> Vec<Concern> {
    if !appended && tells(name, args) {
        return Vec::new();
    }
    if let Some(family) = FAMILIES.iter().find(|family| family.name == name) {
        return concern(by_family(family, args));
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
        (Flags::Own(check), _) => check(args, appended),
        (Flags::Any, Some(word)) if reads => Some(at_run_time(name, word)),
        (Flags::Any, _) => None,
        (Flags::But { .. }, Some(word)) if name != "printf" => Some(at_run_time(name, word)),
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

fn lookup(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.names.contains(&name))
}

fn at_run_time(name: &str, word: &Word) -> String {
    format!("What “{name}” is given as “{}” is known only at run time.", super::clip(&word.raw))
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

/// Returns the place of the word that is a pattern or a small program, where there is one.
pub fn pattern_operand(name: &str, words: &[Word]) -> Option<usize> {
    lookup(name).filter(|program| program.operands == Operands::PatternRead)?;
    let given = |text: &str| {
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        letters.is_some_and(|letters| {
            letters.contains(['e', 'f']) && !matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "jq")
        }) || ["--regexp", "--file", "--expression", "--files"].iter().any(|long| text.starts_with(long))
    };
    let texts = || words.iter().enumerate().skip(1).filter_map(|(n, word)| Some((n, value(Some(word))?)));
    if texts().any(|(_, text)| given(text)) {
        return None;
    }
    texts().find(|(_, text)| !text.starts_with('-')).map(|(n, _)| n)
}

fn tells(name: &str, args: &[Word]) -> bool {
    let known = TELLS.contains(&name) || lookup(name).is_some();
    let [only] = args else { return false };
    known
        && (matches!(value(Some(only)), Some("--version" | "--help"))
            || (TELLS.contains(&name)
                && matches!(value(Some(only)), Some("-V" | "-h"))
                && !matches!(name, "tmux" | "ssh" | "sh" | "bash" | "zsh" | "gpg" | "psql" | "mysql")))
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
    let Some(split) = super::options::split(&family.globals, args) else {
        let first = args.first().and_then(|word| value(Some(word))).unwrap_or("");
        return (!family.reads.contains(&first)).then(odd);
    };
    let words: Vec<&str> = split.rest.iter().filter_map(|word| value(Some(word))).collect();
    let path = words.iter().take(2).copied().collect::<Vec<_>>().join(" ");
    let first = words.first().copied().unwrap_or("");
    if !family.reads.contains(&first) && !family.reads.contains(&path.as_str()) {
        return Some(odd());
    }
    let hit = words.iter().find(|word| {
        family.refused.iter().any(|refused| {
            *word == refused
                || word.split(['/', ',', '=']).any(|part| part == *refused)
                || (refused.starts_with("--")
                    && word.len() > 4
                    && refused.starts_with(word.split('=').next().unwrap_or(word)))
        })
    })?;
    Some(format!("“{} … {}” does more than read.", family.name, super::clip(hit)))
}

/// Returns what speaks against a `find`, the programs that it starts left out.
pub fn find_without_exec(args: &[Word]) -> Option<String> {
    let mut rest = Vec::new();
    let mut inside = false;
    for word in args {
        match value(Some(word)) {
            Some("-exec" | "-execdir") => inside = true,
            Some("-ok" | "-okdir") => return Some("“find -ok” waits for answers.".to_string()),
            Some(";" | "+") if inside => inside = false,
            _ if inside => {}
            _ => rest.push(word.clone()),
        }
    }
    find(&rest, false)
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

fn find(args: &[Word], appended: bool) -> Option<String> {
    if appended {
        return Some("“find” would be given tests and actions that are known only at run time.".to_string());
    }
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let Some(text) = word.value.as_deref() else { return Some(at_run_time("find", word)) };
        let dashed = text.starts_with('-') || matches!(text, "!" | "(" | ")" | ",");
        if !dashed || FIND_ALONE.contains(&text) {
            at += 1;
        } else if FIND_VALUED.contains(&text) || (text.starts_with("-newer") && text.len() == 8) {
            at += 2;
        } else {
            return Some(format!("“find {}” does more than look.", super::clip(text)));
        }
    }
    None
}

fn getent(args: &[Word], _: bool) -> Option<String> {
    args.iter()
        .any(|word| value(Some(word)).is_none_or(|text| matches!(text, "shadow" | "gshadow")))
        .then(|| "“getent” can show passwords.".to_string())
}

fn test(args: &[Word], _: bool) -> Option<String> {
    let runs = |text: &str| matches!(text, "-v" | "-R") || text.contains("$(") || text.contains('`');
    args.iter()
        .filter_map(|word| value(Some(word)))
        .any(runs)
        .then(|| "A test on a variable's name can run commands.".to_string())
}

fn date(args: &[Word], appended: bool) -> Option<String> {
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

fn status_only(args: &[Word], _: bool) -> Option<String> {
    let fine = args.iter().all(|word| {
        matches!(
            value(Some(word)),
            Some("status" | "show" | "list-timezones" | "list-locales" | "--no-pager" | "hostname")
        )
    });
    (!fine || args.len() > 2).then(|| "It may set something of the system.".to_string())
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
    long_valued: &["indent"],
};

fn jq(args: &[Word], appended: bool) -> Option<String> {
    let mut kept: Vec<Word> = Vec::new();
    let mut at = 0;
    while let Some(word) = args.get(at) {
        match value(Some(word)) {
            // Two words follow: a name and a value.
            Some("--arg" | "--argjson") => at += 3,
            _ => {
                kept.push(word.clone());
                at += 1;
            }
        }
    }
    let odd = "“jq” is used in a way that is not known to read only.";
    let Some(found) = operands(&JQ, &kept).filter(|_| !appended) else { return Some(odd.to_string()) };
    let program = found.first().and_then(|n| kept.get(*n)).and_then(|word| value(Some(word))).unwrap_or("");
    ["env", "$ENV", "include", "import", "input_filename", "debug", "$__prog"]
        .iter()
        .any(|word| program.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).any(|token| token == *word))
        .then(|| "The program of “jq” reaches beyond its input.".to_string())
}

fn unzip(args: &[Word], appended: bool) -> Option<String> {
    let listing = args.first().and_then(|word| value(Some(word))).is_some_and(|text| {
        text.strip_prefix('-').is_some_and(|letters| {
            !letters.is_empty()
                && letters.chars().all(|c| matches!(c, 'l' | 'v' | 'Z' | '1' | 't' | 'q'))
                && letters.contains(['l', 'v', 'Z', 't'])
        })
    });
    (!listing || appended).then(|| "“unzip” writes files.".to_string())
}

fn lists_archive(args: &[Word], appended: bool) -> Option<String> {
    let options = Options { short: "lv", valued: "", long: &["list", "verbose"], long_valued: &[] };
    let lists = args
        .iter()
        .filter_map(|word| value(Some(word)))
        .any(|text| text == "--list" || (text.starts_with('-') && !text.starts_with("--") && text.contains('l')));
    (!lists || appended || operands(&options, args).is_none()).then(|| "It replaces files by packed ones.".to_string())
}

const TAR: Options = Options {
    short: "tvzjJZaPkpOhSR",
    valued: "fCTXb",
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
        "help",
        "version",
        "absolute-names",
    ],
    long_valued: &["file", "directory", "exclude", "strip-components", "show-transformed-names"],
};

fn tar(args: &[Word], appended: bool) -> Option<String> {
    let odd = Some("“tar” does more than list.".to_string());
    let mut words: Vec<Word> = args.to_vec();
    // The old style has no dash: `tar tvf x`.
    if let Some(first) = words.first_mut()
        && let Some(text) = first.value.clone().filter(|text| !text.starts_with('-'))
    {
        if text.chars().any(|c| !"tvzjJZaf".contains(c)) || !text.contains('t') {
            return odd;
        }
        first.value = Some(format!("-{text}"));
    }
    let lists = words.iter().filter_map(|word| value(Some(word))).any(|text| {
        text == "--list"
            || (text.starts_with('-')
                && !text.starts_with("--")
                && text.chars().take_while(|c| *c != 'f').any(|c| c == 't'))
    });
    let remote =
        words.iter().filter_map(|word| value(Some(word))).any(|text| text.contains(':') && !text.contains('/'));
    if operands(&TAR, &words).is_none() || !lists || remote || appended { odd } else { None }
}

fn ip(args: &[Word], appended: bool) -> Option<String> {
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
    let looks = matches!(verb, None | Some("show" | "list" | "ls" | "lst" | "get" | "s" | "sh" | "dev" | "help"));
    (!looks || appended || matches!(object, "netns" | "vrf")).then(|| odd.unwrap_or_default())
}
