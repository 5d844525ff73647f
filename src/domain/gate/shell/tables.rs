//! Names of variables, devices and programs that the shell judge knows.

use crate::domain::gate::facts::Word;

/// Programs that reach this Emacs, this agent, or what starts things for the user.
pub const OURS: &[&str] = &["emacsclient", "passepartout", "passepartout-run"];

/// Programs that connect to somewhere.
pub const NETWORK: &[&str] = &[
    "curl",
    "wget",
    "wget2",
    "nc",
    "ncat",
    "netcat",
    "nc.openbsd",
    "nc.traditional",
    "socat",
    "telnet",
    "ftp",
    "tftp",
    "sftp",
    "scp",
    "ssh",
    "rsync",
    "lftp",
    "aria2c",
    "axel",
    "http",
    "https",
    "httpie",
    "xh",
    "ping",
    "ping6",
    "dig",
    "nslookup",
    "host",
    "whois",
    "traceroute",
    "tracepath",
    "mtr",
    "nmap",
    "sshfs",
    "rclone",
    "ngrok",
    "cloudflared",
    "mail",
    "mailx",
    "sendmail",
    "mutt",
    "swaks",
    "openvpn",
    "tor",
    "rsh",
    "rlogin",
    "rexec",
    "lynx",
    "w3m",
    "links",
    "elinks",
    "youtube-dl",
    "yt-dlp",
    "smbclient",
    "ldapsearch",
    "snmpwalk",
    "mosh",
    "autossh",
    "finger",
    "ab",
    "hey",
    "websocat",
    "grpcurl",
];

/// Programs that copy content somewhere, so that naming a secret among their files gives it away.
pub const COPIES: &[&str] = &["install", "dd", "xxd", "less", "more", "tee", "gpg", "scp", "sftp"];

/// Options behind which a program that connects finds what proves who one is, or who the other is: it uses that, and shows
/// it to nobody.
const PROOFS: &[(&[&str], &[&str])] = &[
    (&["ssh", "scp", "sftp", "mosh", "autossh", "sshfs"], &["-i", "-F"]),
    (&["curl"], &["--cacert", "--cert", "-E", "--key", "--proxy-cacert"]),
    (&["wget", "wget2"], &["--ca-certificate", "--certificate", "--private-key"]),
    (&["grpcurl"], &["-cacert", "-cert", "-key"]),
];

/// Returns whether the word at a place is such a proof: behind its option, or in one word with it.
pub fn proves(name: &str, words: &[Word], at: usize) -> bool {
    let text = |n: usize| words.get(n).and_then(|word| word.value.as_deref()).unwrap_or("");
    let before = at.checked_sub(1).map_or("", text);
    PROOFS.iter().filter(|(names, _)| names.contains(&name)).any(|(_, options)| {
        options.iter().any(|option| {
            let glued = text(at).strip_prefix(option);
            before == *option
                || glued.is_some_and(|rest| rest.starts_with('=') || option.len() == 2 && !rest.is_empty())
        })
    })
}

/// Programs that turn one text into another, so that names hidden in it come out behind them.
pub const DECODERS: &[&str] = &[
    "base64", "base32", "basenc", "xxd", "openssl", "rev", "tr", "gunzip", "gzip", "zcat", "uudecode", "python",
    "python3", "perl", "ruby", "node", "curl",
];

/// Variables that change only how output looks.
const HARMLESS: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "TZ",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
    "CI",
    "GREP_COLORS",
    "LS_COLORS",
    "TIME_STYLE",
    "BLOCKSIZE",
    "BLOCK_SIZE",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "DEBUG",
    "VERBOSE",
    "QUIET",
];

/// Returns whether setting a variable changes nothing that runs. A bare assignment of a name that no program looks at
/// is the script's own affair: where it is used, what it holds is judged.
pub fn harmless_variable(name: &str, value: Option<&str>, bare: bool) -> bool {
    // Locales, time zones and the like may name files: a value with a path in it is no mere setting.
    let plain = value.is_some_and(|value| !value.contains(['/', '%', '$', '`']));
    (plain && (HARMLESS.contains(&name) || name.starts_with("LC_")))
        || (PAGERS.contains(&name) && matches!(value, Some("cat" | "")))
        || (SWITCHES.contains(&name) && matches!(value, Some("0" | "1")))
        || (bare && is_name(name) && !is_proxy(name) && !means_something(name))
}

/// Variables that name a pager: `cat` is none.
const PAGERS: &[&str] = &["GIT_PAGER", "PAGER", "MANPAGER", "SYSTEMD_PAGER"];

/// Variables that turn something harmless on or off.
const SWITCHES: &[&str] = &["GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT", "PYTHONUNBUFFERED", "HOMEBREW_NO_AUTO_UPDATE"];

/// Returns whether a shell, or a program that it hands its environment to, looks at a variable of this name.
/// A name in lower case is the script's own affair, but for those of zsh.
fn means_something(name: &str) -> bool {
    const OWN: &[&str] = &[
        "IFS",
        "ENV",
        "HOME",
        "OLDPWD",
        "PWD",
        "SHELL",
        "SHELLOPTS",
        "BASHOPTS",
        "GLOBIGNORE",
        "EXECIGNORE",
        "FCEDIT",
        "FIGNORE",
        "FUNCNEST",
        "HOSTFILE",
        "INPUTRC",
        "MAIL",
        "MAILCHECK",
        "OPTIND",
        "POSIXLY_CORRECT",
        "TIMEFORMAT",
        "TMOUT",
        "TMPDIR",
        "LANG",
        "LANGUAGE",
        "PAGER",
        "EDITOR",
        "VISUAL",
        "BROWSER",
        "USER",
        "LOGNAME",
        "DISPLAY",
        "TERM",
        "PS0",
        "PS1",
        "PS2",
        "PS3",
        "PS4",
        "UID",
        "EUID",
        "PPID",
        "CC",
        "CXX",
        "MAKE",
        "LESS",
        "CLASSPATH",
        "ZDOTDIR",
        "TZ",
        "FPATH",
        "IGNOREEOF",
        // What is given to these is worked out as a sum.
        "RANDOM",
        "SRANDOM",
        "LINENO",
        "SECONDS",
    ];
    const STARTS: &[&str] = &[
        "BASH",
        "LD_",
        "DYLD_",
        "LC_",
        "GIT_",
        "SSH_",
        "GPG_",
        "DBUS_",
        "XDG_",
        "PYTHON",
        "PERL",
        "RUBY",
        "NODE_",
        "NPM_",
        "JAVA_",
        "CARGO",
        "RUST",
        "GO",
        "HIST",
        "LESS",
        "MAN",
        "TERM",
        "GCONV",
        "MALLOC_",
        "DOCKER_",
        "KUBE",
        "AWS_",
        "TAR_",
        "GREP_",
        "PROMPT_",
        "SUDO_",
        "SYSTEMD_",
        "EMACS",
        "PASSEPARTOUT",
    ];
    const ENDS: &[&str] =
        &["PATH", "_OPTIONS", "OPTS", "_OPTS", "_COMMAND", "FLAGS", "_PROXY", "_EDITOR", "_PAGER", "_WRAPPER"];
    if !name.chars().any(|c| c.is_ascii_uppercase()) {
        return matches!(
            name,
            "path" | "cdpath" | "fpath" | "manpath" | "module_path" | "precmd_functions" | "chpwd_functions"
        );
    }
    OWN.contains(&name)
        || STARTS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end))
}

fn is_proxy(name: &str) -> bool {
    name.ends_with("_proxy")
}

/// Returns whether a text is the name of a variable.
pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns whether writing there writes nothing.
pub fn harmless_sink(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/fd/1" | "/dev/fd/2")
}

/// Returns whether reading a device is harmless.
pub fn harmless_device(path: &str) -> bool {
    matches!(
        path,
        "/dev/null"
            | "/dev/zero"
            | "/dev/full"
            | "/dev/random"
            | "/dev/urandom"
            | "/dev/stdin"
            | "/dev/fd/0"
            | "/dev/tty"
    )
}
