//! What cannot be meant: the machine, a disk or a whole home destroyed. Nothing makes it pass.

use super::{base_name, value};
use crate::domain::gate::facts::Word;
use crate::domain::gate::place::{is_below, matches};
use crate::domain::scope::Scope;

/// Returns why a command cannot be meant; `None` when it may be.
pub fn find(words: &[Word], scope: &Scope) -> Option<String> {
    let name = base_name(value(words.first())?);
    let args = words.get(1..).unwrap_or(&[]);
    let vital = || args.iter().find_map(|word| is_vital(word, scope));
    match name {
        "rm" | "srm" if has_short(args, &['r', 'R'], "--recursive") => {
            vital().map(|path| format!("It deletes “{path}” with all that is in it."))
        }
        "chmod" | "chown" | "chgrp" if has_short(args, &['R'], "--recursive") => {
            vital().map(|path| format!("It changes the rights of “{path}” with all that is in it."))
        }
        "mv" => vital().map(|path| format!("It moves “{path}” away.")),
        "find" if args.iter().any(|word| value(Some(word)) == Some("-delete")) => {
            vital().map(|path| format!("It deletes what is in “{path}”."))
        }
        "dd" => {
            let target = args.iter().find_map(|word| value(Some(word))?.strip_prefix("of="))?;
            is_disk(target).then(|| format!("It overwrites the device “{target}”."))
        }
        "shred" | "wipefs" | "blkdiscard" | "mkswap" | "tee" | "cp" | "badblocks" | "sgdisk" => {
            let target = args.iter().filter_map(|word| value(Some(word))).find(|path| is_disk(path))?;
            Some(format!("It overwrites the device “{target}”."))
        }
        _ if name.starts_with("mkfs") || name == "mke2fs" => {
            let target = args.iter().filter_map(|word| value(Some(word))).find(|path| path.starts_with("/dev/"))?;
            Some(format!("It makes a new file system on “{target}”."))
        }
        _ => None,
    }
}

/// Returns whether a path is a whole disk or a partition.
pub fn is_disk(path: &str) -> bool {
    let Some(device) = path.strip_prefix("/dev/") else { return false };
    [
        "sd[a-z]*",
        "hd[a-z]*",
        "vd[a-z]*",
        "xvd[a-z]*",
        "nvme*",
        "mmcblk*",
        "disk*",
        "rdisk*",
        "mapper/*",
        "dm-*",
        "md[0-9]*",
        "mem",
        "kmem",
        "port",
    ]
    .iter()
    .any(|pattern| matches(pattern, device))
}

fn has_short(args: &[Word], letters: &[char], long: &str) -> bool {
    args.iter().filter_map(|word| value(Some(word))).any(|text| {
        let cluster = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        cluster.is_some_and(|rest| rest.contains(letters)) || (text.len() > 4 && long.starts_with(text))
    })
}

/// Returns the path when everything depends on it: `/`, a system folder, a home, a memex.
fn is_vital(word: &Word, scope: &Scope) -> Option<String> {
    let text = value(Some(word))?;
    if text.starts_with('-') || text.is_empty() {
        return None;
    }
    let bare = text.trim_end_matches('*').trim_end_matches('.');
    let whole = |path: &str| {
        let path = path.trim_end_matches('/');
        if matches!(path, "/tmp" | "/var/tmp") {
            return false;
        }
        path.is_empty()
            || SYSTEM.contains(&path)
            || path == scope.home.trim_end_matches('/')
            || path == "~"
            || (is_below(&scope.project, path) && path != scope.project)
            || scope.memex.iter().any(|root| is_below(root, path) && path != scope.project)
    };
    let rooted = bare.starts_with('/') || bare.starts_with('~');
    let spelt = rooted && (bare.ends_with('/') || bare.len() == text.len()) && whole(bare);
    let resolved = word.resolved.first().is_some_and(|path| whole(path)) && rooted;
    (spelt || resolved).then(|| text.chars().take(80).collect())
}

const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/opt",
    "/proc",
    "/root",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/usr/bin",
    "/usr/lib",
    "/usr/local",
    "/usr/share",
    "/var",
    "/var/lib",
    "/System",
    "/Users",
    "/Library",
    "/Applications",
];
