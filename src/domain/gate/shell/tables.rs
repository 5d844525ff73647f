//! Names of variables, devices and programs that the shell judge knows.

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
    "POSIXLY_CORRECT",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "DEBUG",
    "VERBOSE",
    "QUIET",
];

/// Returns whether setting a variable changes nothing that runs. A bare assignment of a name in
/// lower case is the script's own affair: where it is used, it counts as unknown.
pub fn harmless_variable(name: &str, value: Option<&str>, bare: bool) -> bool {
    // Locales, time zones and the like may name files: a value with a path in it is no mere setting.
    let plain = value.is_some_and(|value| !value.contains(['/', '%', '$', '`']));
    (plain && (HARMLESS.contains(&name) || name.starts_with("LC_")))
        || (bare
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())
            && !is_proxy(name))
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
