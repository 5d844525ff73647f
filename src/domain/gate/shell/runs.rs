//! What a command carries out: the files whose text decides what happens, and not merely what is read or moved.

use super::unwrap::{Inner, unwrap};
use super::{MAX_WRAPPERS, base_name, programs, system_name, value};
use crate::domain::gate::facts::{CommandFact, Word};

/// Programs that treat the files they are given as data, beside those that only read.
const HANDLES: &[&str] = &[
    "cp", "mv", "rm", "rmdir", "ln", "touch", "mkdir", "chmod", "chown", "chgrp", "tee", "install", "dd", "shred",
    "truncate", "split", "csplit", "patch", "zip", "gunzip", "bunzip2", "unxz", "zcat", "gpg", "openssl", "less",
    "more", "curl", "wget", "scp", "rsync", "nc", "true", "false", "set", "export", "unset", "trap",
];

/// Programs of the catalogue that carry out a file behind an option: `awk -f program`, `sed --file program`.
const SCRIPTED: &[&str] = &["awk", "gawk", "mawk", "nawk", "sed", "gsed", "jq", "gojq"];

/// Programs that read a file by themselves to learn what to do, with the names of the file.
const PLANS: &[(&[&str], &[&str])] = &[
    (&["make", "gmake", "bmake"], &["GNUmakefile", "makefile", "Makefile", "BSDmakefile"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["npm", "npx", "pnpm", "yarn", "bun", "bunx"], &["package.json"]),
    (&["cargo"], &["Cargo.toml", "build.rs", ".cargo/config.toml", ".cargo/config"]),
    (&["rake"], &["Rakefile", "rakefile"]),
    (&["cmake"], &["CMakeLists.txt"]),
    (&["ninja"], &["build.ninja"]),
    (&["meson"], &["meson.build"]),
    (&["gradle"], &["build.gradle", "build.gradle.kts"]),
    (&["mvn"], &["pom.xml"]),
    (&["ant"], &["build.xml"]),
    (&["tox"], &["tox.ini"]),
    (&["pytest"], &["conftest.py", "pytest.ini", "pyproject.toml"]),
    (&["pip", "pip3"], &["setup.py", "pyproject.toml"]),
    (&["docker", "podman"], &["Dockerfile", "compose.yaml", "docker-compose.yml"]),
    (&["composer"], &["composer.json"]),
];

/// What a command carries out.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Runs<'a> {
    /// Words that may name a file which is carried out.
    pub words: Vec<&'a Word>,
    /// Names of files that a program looks for in its folder to learn what to do.
    pub found: Vec<&'static str>,
}

/// Returns what a command carries out, and what every program does that it starts in turn.
pub fn runs(command: &CommandFact) -> Runs<'_> {
    let mut runs = Runs::default();
    let mut stack: Vec<(&[Word], usize)> = vec![(&command.words, 0)];
    while let Some((words, depth)) = stack.pop() {
        let before = stack.len();
        let unwrapped = unwrap(words).filter(|_| depth < MAX_WRAPPERS);
        let wraps = unwrapped.is_some();
        stack.extend(unwrapped.into_iter().flat_map(|unwrapped| unwrapped.inner).filter_map(|inner| match inner {
            Inner::Argv { words, .. } => Some((words, depth + 1)),
            Inner::Script(_) | Inner::Dynamic => None,
        }));
        match (wraps, stack.len() == before) {
            (false, _) => program(words, &mut runs),
            // It starts something, and what is not known.
            (true, true) => runs.words.extend(words),
            (true, false) => runs.words.extend(words.first()),
        }
    }
    runs
}

fn program<'a>(words: &'a [Word], runs: &mut Runs<'a>) {
    let Some((first, args)) = words.split_first() else { return };
    let Some(spelt) = value(Some(first)) else {
        runs.words.extend(words);
        return;
    };
    // Which file of the project this is, is looked up like that of any word.
    runs.words.push(first);
    let name = base_name(spelt);
    let found = PLANS.iter().filter(|(names, _)| names.contains(&name)).flat_map(|(_, found)| found.iter());
    runs.found.extend(found);
    let handles = HANDLES.contains(&name) || programs::known(name);
    if handles && system_name(spelt).is_some() {
        if SCRIPTED.contains(&name) {
            let option = |word: &Word, fits: fn(&str) -> bool| value(Some(word)).is_some_and(fits);
            let glued =
                args.iter().filter(|word| option(word, |text| text.starts_with("-f") || text.starts_with("--f")));
            let apart = args.windows(2).filter_map(|pair| match pair {
                [before, word] if option(before, |text| text.starts_with('-') && text.ends_with(['f', 'e'])) => {
                    Some(word)
                }
                _ => None,
            });
            runs.words.extend(glued.chain(apart));
        }
    } else {
        runs.words.extend(args);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> CommandFact {
        let word = |text: &str| Word { raw: text.into(), value: Some(text.into()), ..Word::default() };
        CommandFact { words: text.split(' ').map(word).collect(), ..CommandFact::default() }
    }

    #[test]
    fn what_is_carried_out_is_told_from_what_is_handled() {
        for (text, words, found) in [
            ("bash build.sh", "bash build.sh", ""),
            ("python3 job.py in.csv", "python3 job.py in.csv", ""),
            ("env -i nice python3 job.py", "env nice python3 job.py", ""),
            ("./env python3 job.py", "./env python3 job.py", ""),
            ("sh -c ls", "sh -c ls", ""),
            ("tar -xf a.tar", "tar", ""),
            ("./x y", "./x y", ""),
            ("./cat y", "./cat y", ""),
            ("cat notes.txt", "cat", ""),
            ("cp a b", "cp", ""),
            ("sed -f edit.sed notes.txt", "sed -f edit.sed", ""),
            ("awk -fedit.awk notes.txt", "awk -fedit.awk", ""),
            ("make", "make", "GNUmakefile makefile Makefile BSDmakefile"),
            ("make -f other all", "make -f other all", "GNUmakefile makefile Makefile BSDmakefile"),
            ("timeout 5 npm test", "timeout npm test", "package.json"),
        ] {
            let command = command(text);
            let runs = runs(&command);
            let spelt: Vec<&str> = runs.words.iter().map(|word| word.raw.as_str()).collect();
            assert_eq!((spelt.join(" ").as_str(), runs.found.join(" ").as_str()), (words, found), "{text}");
        }
    }
}
