//! Programs that may be asked unasked for their version or their help.
//!
//! Many a program carries out what the folder holds before it says anything at all: a plugin, a file of settings, a
//! module of a known name. So the list of those that do not is closed, and of others it is a question as any other.

use super::catalogue::TELLS;
use super::{programs, value};
use crate::domain::gate::facts::Word;

/// Programs that say their version and their help and look at nothing in the folder before, beside those of the
/// catalogue; or at nothing but what the survey looks at (`settings.rs`).
#[rustfmt::skip]
pub(super) const TOLD: &[&str] = &[
    "rm", "mv", "cp", "ln", "mkdir", "rmdir", "touch", "tee", "install", "dd", "chmod", "chown", "chgrp",
    "mktemp", "truncate", "split", "csplit", "shred", "mkfifo", "mknod", "kill", "killall", "pkill", "nohup",
    "chroot", "stty", "unlink", "link", "patch", "mount", "umount", "fdisk", "parted", "mkfs", "fsck", "zip",
    "gpgv", "rsync", "curl", "wget", "ssh", "scp", "sftp", "ssh-add", "ssh-agent", "sshd", "nc", "ncat",
    "socat", "telnet", "dig", "host", "nslookup", "whois", "ping", "traceroute", "nmap", "rclone", "aria2c",
    "openvpn", "gcc", "g++", "cc", "c++", "clang", "clang++", "cpp", "ld", "as", "make", "gmake", "cmake",
    "ninja", "meson", "autoconf", "automake", "libtool", "bison", "flex", "gdb", "lldb", "strace",
    "cargo", "rustfmt", "rustup", "rustdoc", "go", "gofmt", "java", "javac", "jar", "node",
    "nodejs", "deno", "bun", "npm", "yarn", "yarnpkg", "pnpm", "python", "python2", "python3", "pip", "pip3",
    "pipx", "uv", "ruff", "black", "mypy", "ruby", "gem", "perl", "php", "lua", "luajit", "ghc", "zig", "dart",
    "swift", "tsc", "eslint", "prettier", "bash", "zsh", "fish", "vim", "vi", "nvim", "nano", "emacs",
    "emacsclient", "ed", "tmux", "git", "svn", "hg", "jj", "fossil", "gh", "glab", "docker", "podman",
    "buildah", "skopeo", "docker-compose", "kubectl", "helm", "terraform", "tofu", "vault", "consul",
    "nomad", "minikube", "kind", "k3d", "flux", "argocd", "crictl", "systemctl", "systemd", "mysql",
    "mysqldump", "mariadb", "psql", "pg_dump", "postgres", "redis-cli", "redis-server", "mongod", "mongosh",
    "nginx", "httpd", "apache2", "prometheus", "ffmpeg", "convert", "magick", "dot", "apt", "apt-get", "dpkg",
    "dnf", "yum", "zypper", "apk", "pacman", "snap", "flatpak", "brew", "conda", "aws", "gcloud", "az",
    "qemu-img", "virsh", "iptables", "nft", "code", "textutil", "pytest", "poetry", "tox", "pylint", "mvn",
    "gradle", "dotnet", "mix", "jest", "webpack", "ng", "scrapy", "ansible",
];

/// Those of them whose name may end with their version: `python3.11`, `gcc-12`.
const VERSIONED: &[&str] = &["python", "pip", "gcc", "g++", "clang", "clang++", "ruby", "perl", "php", "lua"];

fn is_told(name: &str) -> bool {
    let without = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    programs::known(name) || TOLD.contains(&name) || VERSIONED.contains(&without)
}

/// Returns whether a program of the system is asked for nothing but its version, its help or its settings.
pub fn tells(name: &str, args: &[Word]) -> bool {
    let (only, loud) = match args {
        [only] => (only, false),
        [only, second] if matches!(value(Some(second)), Some("--verbose" | "-v" | "-vv")) => (only, true),
        // The help of a command that is the program's own.
        [command, only] if value(Some(only)) == Some("--help") => {
            let own = OWN_COMMANDS.iter().find(|(program, _)| *program == name);
            return value(Some(command)).is_some_and(|text| match own {
                Some((_, commands)) => commands.contains(&text),
                None => {
                    HELPS.contains(&name)
                        && text.starts_with(|c: char| c.is_ascii_lowercase())
                        && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
                }
            });
        }
        _ => return false,
    };
    let Some(text) = value(Some(only)) else { return false };
    if loud {
        return text == "--version" && is_told(name);
    }
    (is_told(name) && matches!(text, "--version" | "--help"))
        || TELLS.iter().any(|(names, words)| names.contains(&name) && words.contains(&text))
}

/// Programs that answer `--help` behind one of their commands themselves, whatever the folder holds. Those that hand a
/// command that they do not know to a plugin, as `kubectl` and `docker` do, are none.
const HELPS: &[&str] = &[
    "terraform",
    "vault",
    "systemctl",
    "journalctl",
    "flyctl",
    "rustup",
    "pip",
    "pip3",
    "apt",
    "apt-get",
    "dnf",
    "snap",
    "flatpak",
    "gcloud",
    "kind",
    "consul",
    "nomad",
];

/// Commands of their own of programs that hand any other to a plugin, which may do with `--help` what it likes.
const OWN_COMMANDS: &[(&str, &[&str])] = &[
    ("docker", CONTAINERS),
    ("podman", CONTAINERS),
    (
        "kubectl",
        &[
            "annotate",
            "apply",
            "attach",
            "config",
            "cp",
            "create",
            "delete",
            "describe",
            "drain",
            "edit",
            "exec",
            "explain",
            "expose",
            "get",
            "label",
            "logs",
            "patch",
            "port-forward",
            "replace",
            "rollout",
            "run",
            "scale",
            "set",
            "taint",
            "top",
            "wait",
        ],
    ),
    (
        "helm",
        &[
            "create",
            "get",
            "history",
            "install",
            "lint",
            "list",
            "package",
            "pull",
            "push",
            "repo",
            "rollback",
            "search",
            "show",
            "status",
            "template",
            "test",
            "uninstall",
            "upgrade",
            "verify",
        ],
    ),
];

const CONTAINERS: &[&str] = &[
    "attach",
    "build",
    "commit",
    "container",
    "cp",
    "create",
    "diff",
    "events",
    "exec",
    "export",
    "history",
    "image",
    "images",
    "import",
    "info",
    "inspect",
    "kill",
    "load",
    "login",
    "logout",
    "logs",
    "network",
    "pause",
    "port",
    "ps",
    "pull",
    "push",
    "rename",
    "restart",
    "rm",
    "rmi",
    "run",
    "save",
    "search",
    "start",
    "stats",
    "stop",
    "system",
    "tag",
    "top",
    "unpause",
    "update",
    "volume",
    "wait",
];
