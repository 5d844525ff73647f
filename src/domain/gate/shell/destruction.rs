//! What destroys more than a glance takes in: trees, disks, the history of a repository, the system. It is asked about
//! like other changes, and is dangerous: so it is not even tried out.

use super::{base_name, clip, value};
use crate::domain::gate::facts::Word;

/// Returns why a command is dangerous; `None` when nothing of that kind is known of it.
pub fn find(words: &[Word]) -> Option<String> {
    let name = base_name(value(words.first())?);
    let args = words.get(1..).unwrap_or(&[]);
    match name {
        "rm" | "srm" if has(args, "rR", &["--recursive"]) => {
            Some("It deletes folders with all that is in them.".into())
        }
        "rm" | "srm" | "unlink" if args.iter().any(is_everything) => {
            Some("Which files it deletes is known only at run time.".into())
        }
        "find" if has(args, "", &["-delete"]) || names_deleter(args) => Some("It deletes whatever it finds.".into()),
        "xargs" | "parallel" if names_deleter(args) => Some("It deletes whatever it is given.".into()),
        "chmod" | "chown" | "chgrp" | "setfacl" if has(args, "R", &["--recursive"]) => {
            Some("It changes the rights of folders with all that is in them.".into())
        }
        "dd" if args.iter().any(|word| value(Some(word)).is_none_or(|text| text.starts_with("of="))) => {
            Some("It overwrites what it is given byte by byte.".into())
        }
        "rsync" if has(args, "", &["--delete", "--remove-source-files"]) => Some("It deletes what it finds.".into()),
        "git" => git(args),
        _ if OVERWRITES.contains(&name) || name.starts_with("mkfs") => {
            Some(format!("“{name}” overwrites files or disks for good."))
        }
        _ => None,
    }
}

/// Returns why the program that a command names first is dangerous by what it is for; when `appended`, it is given more
/// than stands there.
pub fn find_by_name(words: &[Word], appended: bool) -> Option<String> {
    let name = base_name(value(words.first())?);
    if appended && deletes(name) {
        return Some("It deletes whatever it is given.".to_string());
    }
    if BEYOND.contains(&name) {
        return Some(format!("“{name}” changes what lies outside the project."));
    }
    let versioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (_, letters, longs) = INTERPRETERS.iter().find(|(interpreter, _, _)| *interpreter == versioned)?;
    let args = words.get(1..).unwrap_or(&[]);
    let first = args.iter().find(|word| value(Some(word)).is_none_or(|text| !text.starts_with('-') || text == "-"));
    let from_input = first.is_none_or(|word| value(Some(word)).is_none_or(|text| text == "-"));
    (from_input || has(args, letters, longs)).then(|| format!("“{name}” runs code that nothing here has read."))
}

/// Programs that overwrite for good.
const OVERWRITES: &[&str] = &[
    "shred",
    "wipe",
    "wipefs",
    "blkdiscard",
    "mkswap",
    "mke2fs",
    "badblocks",
    "fdisk",
    "sfdisk",
    "cfdisk",
    "sgdisk",
    "parted",
    "cryptsetup",
];

/// Programs that change the system, other users' processes, or what runs elsewhere.
const BEYOND: &[&str] = &[
    "sudo",
    "su",
    "doas",
    "pkexec",
    "runuser",
    "chroot",
    "nsenter",
    "unshare",
    "setpriv",
    "kill",
    "killall",
    "pkill",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "init",
    "telinit",
    "systemctl",
    "systemd-run",
    "service",
    "launchctl",
    "crontab",
    "at",
    "batch",
    "mount",
    "umount",
    "losetup",
    "insmod",
    "modprobe",
    "rmmod",
    "sysctl",
    "iptables",
    "ip6tables",
    "nft",
    "ufw",
    "useradd",
    "usermod",
    "userdel",
    "groupadd",
    "groupdel",
    "passwd",
    "chpasswd",
    "visudo",
    "chsh",
    "apt",
    "apt-get",
    "dpkg",
    "dnf",
    "yum",
    "rpm",
    "pacman",
    "zypper",
    "apk",
    "brew",
    "snap",
    "flatpak",
    "docker",
    "podman",
    "kubectl",
    "helm",
    "terraform",
    "tofu",
    "aws",
    "gcloud",
    "az",
    "dropdb",
    "dropuser",
];

/// Interpreters, with the letters and the long options behind which their code stands.
const INTERPRETERS: &[(&str, &str, &[&str])] = &[
    ("python", "c", &[]),
    ("pypy", "c", &[]),
    ("perl", "eE", &[]),
    ("ruby", "e", &[]),
    ("node", "ep", &["--eval", "--print"]),
    ("nodejs", "ep", &["--eval", "--print"]),
    ("bun", "e", &["--eval"]),
    ("php", "rBRE", &["--run"]),
    ("lua", "e", &[]),
    ("luajit", "e", &[]),
    ("Rscript", "e", &[]),
    ("osascript", "e", &[]),
    ("tclsh", "", &[]),
    ("emacs", "f", &["--eval", "--execute", "--funcall", "--batch", "-batch", "-eval"]),
];

/// Returns what a git command throws away, or rewrites of the history.
fn git(args: &[Word]) -> Option<String> {
    let mut rest = args;
    while let Some(text) = rest.first().and_then(|word| value(Some(word))).filter(|text| text.starts_with('-')) {
        let steps = if matches!(text, "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace") { 2 } else { 1 };
        rest = rest.get(steps..).unwrap_or(&[]);
    }
    let sub = rest.first()?;
    let Some(sub) = value(Some(sub)) else {
        return Some("Which git command is meant, is known only at run time.".into());
    };
    let tail = rest.get(1..).unwrap_or(&[]);
    let word = |names: &[&str]| tail.iter().filter_map(|word| value(Some(word))).any(|text| names.contains(&text));
    let dangerous = match sub {
        "clean" | "rebase" | "filter-branch" | "filter-repo" | "replace" | "prune" | "update-ref" | "fast-import"
        | "restore" | "read-tree" => true,
        "reset" => has(tail, "", &["--hard", "--merge", "--keep"]),
        "reflog" => word(&["expire", "delete"]),
        "stash" => word(&["drop", "clear"]),
        "gc" => has(tail, "", &["--prune"]),
        "branch" => has(tail, "dDfM", &["--delete", "--force"]),
        "tag" => has(tail, "df", &["--delete", "--force"]),
        "checkout" | "switch" => has(tail, "fB", &["--force", "--discard-changes"]) || word(&["--", "."]),
        "commit" => has(tail, "", &["--amend"]),
        "worktree" | "submodule" => word(&["remove", "deinit", "prune"]),
        "rm" => has(tail, "rf", &["--force"]),
        "push" => {
            let refs = |text: &str| text.starts_with(['+', ':']);
            has(tail, "fd", &["--force", "--force-with-lease", "--mirror", "--delete", "--prune"])
                || tail.iter().filter_map(|word| value(Some(word))).any(refs)
        }
        _ => false,
    };
    dangerous.then(|| format!("“git {}” throws work away or rewrites the history.", clip(sub)))
}

/// Returns whether one of these short options is among the arguments, or a long one, also one that is cut short.
fn has(args: &[Word], letters: &str, longs: &[&str]) -> bool {
    args.iter().filter_map(|word| value(Some(word))).any(|text| {
        let cluster = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let name = text.split('=').next().unwrap_or(text);
        cluster.is_some_and(|rest| rest.contains(|c| letters.contains(c)))
            || longs.iter().any(|long| *long == name || (name.len() > 4 && long.starts_with(name)))
    })
}

/// Returns whether a program that deletes is among the arguments of one that starts it.
fn names_deleter(args: &[Word]) -> bool {
    args.iter().filter_map(|word| value(Some(word))).any(|text| deletes(base_name(text)))
}

fn deletes(name: &str) -> bool {
    matches!(name, "rm" | "srm" | "unlink" | "rmdir" | "shred")
}

/// Returns whether a word stands for all that is in a folder, or for what is known only at run time.
fn is_everything(word: &Word) -> bool {
    let Some(text) = value(Some(word)) else { return true };
    let last = text.rsplit('/').next().unwrap_or(text);
    // The names that “find” puts in its place.
    text == "{}" || word.glob && !last.is_empty() && last.chars().all(|c| matches!(c, '*' | '.' | '?'))
}
