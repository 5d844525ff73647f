//! What a file is a copy of: its name without the marks that editors, packages, file managers and people put on copies.

use super::glob::Patterns;
use std::sync::LazyLock;

/// The most places of a name at which a mark may begin: no name of a file has more that matter.
const PLACES: usize = 24;

/// Words that say that a file is another one's copy, older form, or packed form.
const MARKS: &[&str] = &[
    // Of people and file managers.
    "bak",
    "bk",
    "bkp",
    "bkup",
    "bup",
    "backup",
    "backups",
    "old",
    "older",
    "orig",
    "original",
    "prev",
    "previous",
    "last",
    "save",
    "saved",
    "copy",
    "kopie",
    "copie",
    "copia",
    "cópia",
    "kopia",
    "kopio",
    "kopi",
    "kopya",
    "másolat",
    "копия",
    "копія",
    "αντίγραφο",
    "副本",
    "的副本",
    "拷贝",
    "拷貝",
    "备份",
    "備份",
    "コピー",
    "のコピー",
    "복사본",
    "사본",
    "duplicate",
    "conflict",
    "conflicted",
    "sync",
    "tmp",
    "temp",
    "off",
    "disabled",
    "inactive",
    "unused",
    "snapshot",
    "archived",
    // Of editors and systems of versions.
    "swp",
    "swo",
    "swn",
    "swm",
    "swx",
    "un",
    "v",
    "mine",
    "theirs",
    "ours",
    "rej",
    "autosave",
    "local",
    // Of packages and programs that load.
    "rpmsave",
    "rpmorig",
    "rpmnew",
    "dpkg",
    "ucf",
    "pacsave",
    "pacnew",
    "part",
    "partial",
    "crdownload",
    "filepart",
    // Of what packs and seals.
    "gz",
    "bz2",
    "xz",
    "zst",
    "zstd",
    "lz",
    "lz4",
    "lzma",
    "br",
    "z",
    "zip",
    "7z",
    "rar",
    "tar",
    "tgz",
    "gpg",
    "pgp",
    "age",
    "enc",
    "encrypted",
    "asc",
    "aes",
    "crypt",
];

static KNOWN: LazyLock<Patterns> = LazyLock::new(|| Patterns::new(MARKS));

/// Builds the table now, so that no verdict pays for it.
pub(super) fn prepare() {
    LazyLock::force(&KNOWN);
}

/// Signs at which a mark begins or ends.
fn parts(c: char) -> bool {
    matches!(c, '.' | '~' | '_' | ',' | '-' | '–' | '—' | '(' | ')' | '[' | ']' | '+' | '#' | ':') || c.is_whitespace()
}

/// Returns whether a name, in small letters, or what it is a copy of, fits.
pub(super) fn in_any_form(name: &str, fits: impl Fn(&str) -> bool) -> bool {
    if fits(name) {
        return true;
    }
    if !name.contains(|c: char| parts(c) || c == '!') {
        return false;
    }
    let trimmed = name.trim_matches(|c: char| matches!(c, '#' | '~') || c.is_whitespace());
    // Emacs writes a backup's folders with `!` in place of `/`.
    let trimmed = trimmed.rsplit('!').next().unwrap_or(trimmed);
    // Lines and anchors: `name:12`, `name#L1`; and the files that Emacs and LibreOffice lock with.
    let cut = trimmed.find(['#', ':']).and_then(|at| trimmed.get(..at));
    let locked = trimmed.strip_prefix(".#").or_else(|| trimmed.strip_prefix(".~lock."));
    let bare = unled(trimmed);
    [Some(trimmed), cut, locked, bare]
        .into_iter()
        .flatten()
        .any(|form| !form.is_empty() && (fits(form) || stems(form).any(|stem| fits(stem) || swapped(stem, &fits))))
        || inner(bare.unwrap_or(trimmed)).is_some_and(|name| fits(&name))
}

/// Vim's swap file of `name` is `.name.swp`: what stands before a mark may have one dot too many.
fn swapped(stem: &str, fits: impl Fn(&str) -> bool) -> bool {
    stem.strip_prefix('.').is_some_and(|name| name.len() > 1 && fits(name))
}

/// Returns what stands before each mark at the end of a name.
fn stems(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices(parts).take(PLACES).filter_map(move |(at, _)| {
        let (stem, tail) = name.split_at_checked(at)?;
        let stem = stem.trim_end_matches(parts);
        (!stem.is_empty() && is_mark(tail)).then_some(stem)
    })
}

/// Returns a name without the mark before it: `old_name`, `copy of name`, `2024-05-01-name`.
fn unled(name: &str) -> Option<&str> {
    let mut rest = name;
    for _ in 0..PLACES {
        let end = rest.find(|c: char| parts(c) && c != '.').filter(|end| *end > 0);
        let Some((word, behind)) = end.and_then(|end| rest.split_at_checked(end)) else { break };
        let joint = rest.len() < name.len() && matches!(word, "of" | "de" | "von" | "di" | "van" | "av");
        if !joint && !is_word(word) {
            break;
        }
        rest = behind.trim_start_matches(|c: char| parts(c) && c != '.');
    }
    (rest.len() < name.len() && !rest.is_empty()).then_some(rest)
}

/// Returns a name without the mark before its ending: `name (1).json`, `name - copy.json`, `name.bak.json`.
fn inner(name: &str) -> Option<String> {
    let (head, ending) = name.rsplit_once('.').filter(|(head, ending)| !head.is_empty() && !ending.is_empty())?;
    stems(head).next().map(|stem| format!("{stem}.{ending}"))
}

/// Returns whether the end of a name is a mark: signs alone, numbers, or a word of copies with whatever follows it but
/// another ending, as in `name_old.rs`.
fn is_mark(tail: &str) -> bool {
    let words = |text: &'_ str| -> Option<bool> {
        let mut words = text.split(parts).filter(|word| !word.is_empty());
        words.find(|word| !is_number(word)).map(is_word)
    };
    let ending = tail.rsplit_once('.').is_none_or(|(_, ending)| words(ending).unwrap_or(true));
    !tail.is_empty() && ending && words(tail).unwrap_or(true)
}

/// Returns whether a word is one of copies, or a number; `bak2` is one, too.
fn is_word(word: &str) -> bool {
    let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
    is_number(word) || KNOWN.fit(word) || bare.len() < word.len() && KNOWN.fit(bare)
}

/// Returns whether a word is a number or a time, or a part of one: `12`, `20240101t120000z`, `01t12`.
fn is_number(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let of_time = word.bytes().filter(|b| matches!(b, b't' | b'z')).count();
    word.starts_with(|c: char| c.is_ascii_digit())
        && (digits + of_time == word.len() || digits >= 8)
        && word.bytes().all(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_known_by_its_name() {
        for copy in [
            "name",
            "name~",
            "name.~1~",
            "name.~12~",
            "#name#",
            ".#name",
            "name.bak",
            "name.bak2",
            "name_old.1.gz",
            "name (1)",
            "name(2)",
            "name copy",
            "name copy 2",
            "name - copy",
            "name (copy)",
            "name (kopie 3)",
            "name (conflicted copy 2024-05-01 of anna)",
            "name.sync-conflict-20240101-120000-abcdefg",
            "name,v",
            "name.un~",
            ".name.swp",
            ".name.swn",
            "name.rpmsave",
            "name.dpkg-old",
            "name.ucf-old",
            "name.xz",
            "name.tar.gz.gpg",
            "name.20240101",
            "name-2024-05-01",
            "name.20240101t120000z",
            "name.2024-05-01t12:00:00+00:00",
            "name.2024-05-01t12:00",
            "name.2024-05-01t12:00:00z",
            "2024-05-01t12:00-name",
            "name — копия",
            "name – копия (2)",
            "name 副本",
            "name - コピー",
            "old_name",
            "backup-name",
            "copy of name",
            "kopie von name",
            "2024-05-01-name",
            "old_name.bak",
            "!home!user!name~",
            "name:12",
            "name#l1",
            "name[1]",
            "name.1",
            "name-",
            "name.",
            "._name.1",
        ] {
            assert!(in_any_form(copy, |form| form == "name" || form == "_name"), "{copy}");
        }
        for copy in ["a (1).json", "a - copy.json", "a.bak.json", "a-old.json", "a_2.json", "old-a.json", "a.json.~3~"]
        {
            assert!(in_any_form(copy, |form| form == "a.json"), "{copy}");
        }
        for other in [
            "names",
            "name.rs",
            "name_old.rs",
            "name-1.rs",
            "name.pub",
            "name.example",
            "name_example",
            "name-file.1.rs",
            "my.name",
            "name2x",
            "name.json",
            "rename",
            "name.oldest",
            "",
        ] {
            assert!(!in_any_form(other, |form| form == "name"), "{other}");
        }
    }

    #[test]
    fn a_name_of_signs_alone_ends() {
        for sign in ["~", ".", " ", "_", ",", "-", "(", "#", "!", ":", "é."] {
            assert!(!in_any_form(&sign.repeat(200), |form| form == "name"), "{sign}");
        }
    }
}
