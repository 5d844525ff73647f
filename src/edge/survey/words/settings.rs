//! Settings that a folder holds for a program, by which it carries out what the folder says before it shows anything.
//!
//! A program that only reads is harmless by its own doing. With such settings it starts what they name: they come with a
//! project as its scripts do, and nobody has read them.

use super::super::open;
use super::super::roads::{MAX_ENTRIES, Roads};
use super::{MAX_LOOKUPS, NAMES_A_LOOKUP};
use crate::domain::gate::facts::{CommandFact, ScriptFact, Word};
use crate::domain::gate::place::is_below;
use crate::domain::gate::shell::started;
use crate::domain::scope::Scope;
use aho_corasick::AhoCorasick;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The longest settings that are read, in bytes; longer ones count as saying everything.
const MAX_SETTINGS: u64 = 256 * 1024;
/// How much of databases is looked through for a script, in bytes; those behind it count as holding a view.
const MAX_DATABASE: u64 = 64 * 1024 * 1024;

/// What a program looks for in its folder and those above, and by what it says what is started.
struct Settings {
    programs: &'static [&'static str],
    files: &'static [&'static str],
    says: Says,
}

/// By what settings say that something is started.
#[derive(Clone, Copy)]
enum Says {
    /// By being there.
    Anything,
    /// By one of these words, in small letters. Where letters can be written as numbers, `\` is one of them.
    Words(&'static [&'static str]),
    /// By a part between brackets that is none of these, or by leading to other settings.
    OtherThan(&'static [&'static str]),
}
use Says::{Anything, OtherThan, Words};

const SETTINGS: &[Settings] = &[
    Settings {
        programs: &["cargo", "cargo-clippy", "cargo-fmt"],
        files: &[".cargo/config.toml", ".cargo/config"],
        says: Words(&["rustc", "wrapper", "credential", "provider", "include", "\\"]),
    },
    Settings { programs: RUST, files: &["rust-toolchain.toml"], says: Words(&["path", "\\"]) },
    // Its only line may be the path itself.
    Settings { programs: RUST, files: &["rust-toolchain"], says: Words(&["path", "/", "\\"]) },
    // Where what stands for these programs fetches the one that a project wants, this says where that lies.
    Settings {
        programs: &["yarn", "yarnpkg", "pnpm", "pnpx", "npm", "npx"],
        files: &[".corepack.env"],
        says: Anything,
    },
    Settings { programs: &["yarn", "yarnpkg"], files: &[".yarnrc"], says: Words(&["yarn-path", "\\"]) },
    Settings { programs: &["yarn", "yarnpkg"], files: &[".yarnrc.yml"], says: Words(&["yarnpath", "plugins", "\\"]) },
    Settings { programs: &["pnpm", "pnpx"], files: &[".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js"], says: Anything },
    Settings {
        programs: &["pnpm", "pnpx"],
        files: &["pnpm-workspace.yaml"],
        says: Words(&["pnpmfile", "configdependencies", "scriptshell", "\\"]),
    },
    Settings {
        programs: &["npm", "npx", "pnpm", "pnpx"],
        files: &[".npmrc"],
        says: Words(&[
            "git",
            "node-options",
            "shell",
            "pnpmfile",
            "viewer",
            "browser",
            "editor",
            "prefix",
            "config",
            "\\",
        ]),
    },
    Settings { programs: &["pytest", "py.test"], files: &["conftest.py", "test*/conftest.py"], says: Anything },
    Settings {
        programs: &["pytest", "py.test"],
        files: &["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml"],
        says: Words(&["addopts", "testpaths", "pythonpath", "plugins", "\\"]),
    },
    Settings {
        programs: &["mvn", "mvnd"],
        files: &[".mvn/jvm.config", ".mvn/maven.config", ".mvn/extensions.xml"],
        says: Anything,
    },
    Settings { programs: &["gradle"], files: &["gradle.properties"], says: Words(&["jvmargs", "java.home", "\\"]) },
    Settings { programs: &["sbt"], files: &[".sbtopts", ".jvmopts", "project/build.properties"], says: Anything },
    Settings { programs: &["bazel", "bazelisk"], files: &["tools/bazel", ".bazelrc", ".bazeliskrc"], says: Anything },
    Settings { programs: &["rails"], files: &["bin/rails", "script/rails"], says: Anything },
    Settings { programs: &["jekyll", "bundle", "bundler"], files: &["Gemfile", ".bundle/config"], says: Anything },
    Settings {
        programs: &["rspec", "rubocop"],
        files: &[".rspec", ".rubocop", ".rubocop.yml"],
        says: Words(&["require", "-r", "-i", "\\"]),
    },
    Settings { programs: &["tox"], files: &["tox.ini", "tox.toml"], says: Words(&["requires", "plugin", "\\"]) },
    Settings { programs: &["tox"], files: &["toxfile.py", "☣.py"], says: Anything },
    Settings { programs: &["flake8"], files: &[".flake8", "setup.cfg", "tox.ini"], says: Words(&["local-plugins"]) },
    Settings {
        programs: &["pylint"],
        files: &[".pylintrc", ".pylintrc.toml", "pylintrc", "pylintrc.toml", "pyproject.toml", "setup.cfg", "tox.ini"],
        says: Words(&["init-hook", "load-plugins", "\\"]),
    },
    Settings {
        programs: &["ansible", "ansible-playbook", "ansible-doc", "ansible-config", "ansible-inventory"],
        files: &["ansible.cfg"],
        says: Anything,
    },
    Settings { programs: &["vagrant"], files: &["Vagrantfile"], says: Anything },
    // What is kept beside the files of other keepers of versions, and can be part of another's files.
    Settings { programs: &["hg", "chg"], files: &[".hg/hgrc", ".hg/hgrc-not-shared"], says: OtherThan(HG_HARMLESS) },
    Settings { programs: &["hg", "chg"], files: &[".hg/sharedpath"], says: Anything },
    Settings {
        programs: &["jj"],
        files: &[".jj/repo/config.toml", ".jj/repo/workspace-config.toml"],
        says: Words(JJ_STARTS),
    },
    Settings { programs: &["ledger"], files: &[".ledgerrc"], says: Anything },
    Settings { programs: &["hledger"], files: &["hledger.conf"], says: Anything },
    Settings { programs: &["fossil"], files: &[".fslckout", "_FOSSIL_"], says: Anything },
    // Of Python, the environment of the project and what is added to the tool itself.
    Settings {
        programs: &["poetry"],
        files: &[".venv/pyvenv.cfg", ".venv/bin/python", ".poetry/plugins", "poetry.toml"],
        says: Anything,
    },
    Settings { programs: &["pdm"], files: &[".pdm-plugins"], says: Anything },
    Settings { programs: &["scrapy"], files: &["scrapy.cfg"], says: Anything },
    Settings { programs: &["dotnet"], files: &["global.json"], says: Words(&["paths", "\\"]) },
    Settings { programs: &["lein"], files: &["project.clj", "profiles.clj"], says: Anything },
    Settings { programs: &["mix", "iex"], files: &["mix.exs"], says: Anything },
    Settings { programs: &["rebar3"], files: &["rebar.config", "rebar.config.script"], says: Anything },
    // Programs that hand over to the one of their name that the project brought along.
    Settings { programs: &["jest"], files: &["node_modules/jest", "node_modules/jest-cli"], says: Anything },
    Settings { programs: &["webpack"], files: &["node_modules/webpack", "node_modules/webpack-cli"], says: Anything },
    Settings { programs: &["ng"], files: &["node_modules/@angular/cli"], says: Anything },
    Settings { programs: &["ember"], files: &["node_modules/ember-cli"], says: Anything },
    Settings { programs: &["grunt"], files: &["node_modules/grunt"], says: Anything },
    Settings { programs: &["lerna"], files: &["node_modules/lerna"], says: Anything },
    Settings { programs: &["nx"], files: &["node_modules/nx"], says: Anything },
    Settings { programs: &["gatsby"], files: &["node_modules/gatsby"], says: Anything },
    Settings { programs: &["ava"], files: &["node_modules/ava"], says: Anything },
    Settings { programs: &["serverless", "sls"], files: &["node_modules/serverless"], says: Anything },
    Settings { programs: &["truffle"], files: &["node_modules/truffle"], says: Anything },
    Settings { programs: &["hardhat"], files: &["node_modules/hardhat"], says: Anything },
];

const RUST: &[&str] = &["cargo", "rustc", "rustup", "rustfmt", "rustdoc", "clippy-driver", "rust-analyzer"];

/// The parts of Mercurial's settings by which nothing is started and no file is written: where others lie, what was told
/// them, and whose the changes are.
const HG_HARMLESS: &[&str] = &["paths", "phases", "email"];

const JJ_STARTS: &[&str] =
    &["tool", "pager", "editor", "monitor", "command", "program", "alias", "external", "hook", "\\"];

/// What of a repository's settings git starts, or where it says to look for more.
const GIT_STARTS: &[&str] = &[
    "fsmonitor",
    "hookspath",
    "pager",
    "editor",
    "sshcommand",
    "askpass",
    "textconv",
    "external",
    "command",
    "program",
    "helper",
    "include",
    "worktree",
    "filter",
    "driver",
    "alias",
    "trustexitcode",
    "\\",
];

/// Commands that bring files up to date before they show anything, where one of these lies in the folder or above it,
/// unless an option forbids that.
struct Update {
    program: &'static str,
    commands: &'static [&'static str],
    file: &'static str,
    forbid: &'static [&'static str],
}

const UPDATES: &[Update] = &[
    // The file that says which versions are used is written.
    Update {
        program: "cargo",
        commands: &["metadata"],
        file: "Cargo.toml",
        forbid: &["--locked", "--frozen", "--no-deps"],
    },
    Update { program: "cargo", commands: &["tree"], file: "Cargo.toml", forbid: &["--locked", "--frozen"] },
    // What stands in the folder is taken up as a change.
    Update {
        program: "jj",
        commands: &[
            "log",
            "st",
            "status",
            "diff",
            "show",
            "file",
            "op",
            "operation",
            "bookmark",
            "branch",
            "tag",
            "workspace",
            "evolog",
            "obslog",
            "root",
            "interdiff",
        ],
        file: ".jj",
        forbid: &["--ignore-working-copy"],
    },
];

/// Returns what speaks against a command that would bring files up to date.
fn updates(words: &[Word], name: &str, folders: &[PathBuf]) -> Option<String> {
    let update = UPDATES.iter().filter(|update| update.program == name).find(|update| {
        let texts = words.iter().skip(1).map(|word| word.value.as_deref().unwrap_or(""));
        let forbidden = texts.clone().take_while(|text| *text != "--").any(|text| update.forbid.contains(&text));
        !forbidden && texts.clone().any(|text| update.commands.contains(&text))
    })?;
    // Where it is told where to look, that is not looked at.
    let told = words.iter().any(|word| word.value.as_deref().is_none_or(|text| text.starts_with("--manifest")));
    let mut above = folders.iter().flat_map(|folder| folder.ancestors());
    (told || above.any(|folder| folder.join(update.file).exists())).then(|| {
        let options = update.forbid.join("” or “");
        format!("“{name}” brings files up to date before it shows anything, unless “{options}” forbids it.")
    })
}

/// Returns what programs of a script would carry out of the settings in the folders in which it runs.
pub(super) fn carried_out(
    roads: &Roads,
    script: &ScriptFact,
    folders: &[PathBuf],
    scope: &Scope,
    lookups: &mut usize,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut databases = Databases::default();
    // Each program and each folder is looked at once, however many commands there are.
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (words, name) in script.commands.iter().flat_map(programs) {
        names.insert(name);
        if name == "sqlite3" {
            found.extend(databases.query(words));
        }
        found.extend(updates(words, name, folders));
    }
    if names.contains("git") {
        found.extend(folders.iter().skip(1).filter_map(|folder| repository(folder, scope)));
    }
    let places: BTreeSet<&Path> = folders.iter().flat_map(|folder| above(folder, scope)).collect();
    if names.contains("jj")
        && let Some(file) = places.iter().map(|folder| folder.join(".jj/repo")).find(|file| file.is_file())
    {
        found.push(format!("“jj” would carry out what the repository says that “{}” names.", file.display()));
    }
    for name in names {
        for settings in SETTINGS.iter().filter(|settings| settings.programs.contains(&name)) {
            let all = places.iter().flat_map(|folder| settings.files.iter().map(move |file| (folder, file)));
            let mut files = all.flat_map(|(folder, file)| named(roads, folder, file, lookups));
            if let Some(file) = files.find(|file| says(file, settings.says)) {
                found.push(format!("“{name}” would carry out what “{}” says.", file.display()));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the files of a name in a folder; a star in it stands for the rest of one part. Each that is looked for counts.
fn named(roads: &Roads, folder: &Path, file: &str, lookups: &mut usize) -> Vec<PathBuf> {
    let Some((begins, rest)) = file.split_once('*') else { return vec![folder.join(file)] };
    if *lookups > MAX_LOOKUPS {
        return Vec::new();
    }
    let listed = roads.names(folder);
    let names = listed.iter().map(|entry| &entry.name).filter(|name| name.to_string_lossy().starts_with(begins));
    let below = rest.trim_start_matches('/');
    let files: Vec<PathBuf> =
        names.map(|name| if below.is_empty() { folder.join(name) } else { folder.join(name).join(below) }).collect();
    // In a folder with more names than are listed there may be others.
    let unseen = if listed.len() >= MAX_ENTRIES { MAX_LOOKUPS + 1 } else { 0 };
    *lookups += listed.len() / NAMES_A_LOOKUP + files.len() + unseen;
    files
}

/// Returns the programs that a command runs, behind all that start others: their words and their names.
fn programs(command: &CommandFact) -> impl Iterator<Item = (&[Word], &str)> {
    let named = |words: &'_ [Word]| -> Option<()> { words.first()?.value.as_deref().map(drop) };
    started(command).into_iter().filter(move |words| named(words).is_some()).map(|words| {
        let text = words.first().and_then(|word| word.value.as_deref()).unwrap_or("");
        (words, text.rsplit('/').next().unwrap_or(text))
    })
}

/// Returns a folder and those above it, up to the project; what lies further up is the user's own.
fn above<'a>(folder: &'a Path, scope: &'a Scope) -> impl Iterator<Item = &'a Path> {
    let within = |folder: &&Path| is_below(&folder.to_string_lossy(), &scope.project);
    let first = std::iter::once(folder);
    first.chain(folder.ancestors().skip(1).take_while(within))
}

/// Returns whether a file is there and says something by this.
fn says(file: &Path, by: Says) -> bool {
    let Ok(metadata) = std::fs::metadata(file) else { return false };
    if matches!(by, Anything) || !metadata.is_file() || metadata.len() > MAX_SETTINGS {
        return true;
    }
    let mut text = String::new();
    let read = std::fs::canonicalize(file).and_then(|file| open::file(&file)).map(|file| file.take(MAX_SETTINGS));
    if !read.is_ok_and(|mut file| file.read_to_string(&mut text).is_ok()) {
        return true;
    }
    let text = text.to_ascii_lowercase();
    match by {
        Anything => true,
        Words(words) => words.iter().any(|word| text.contains(word)),
        OtherThan(parts) => text.lines().map(str::trim_start).any(|line| match line.strip_prefix('[') {
            Some(part) => !parts.contains(&part.split(']').next().unwrap_or(part).trim()),
            None => line.starts_with('%'),
        }),
    }
}

/// Returns what speaks against git in a folder that is, or lies in, a repository without a folder of its own for its
/// settings: such a one can be part of another's files.
fn repository(folder: &Path, scope: &Scope) -> Option<String> {
    let bare = |folder: &Path| ["HEAD", "config", "objects"].iter().all(|name| folder.join(name).exists());
    let found = above(folder, scope).find(|folder| bare(folder) && says(&folder.join("config"), Words(GIT_STARTS)))?;
    Some(format!("“git” would carry out what the repository “{}” says.", found.display()))
}

/// Which databases hold a view: each is looked through once for a script, and all together up to a bound.
#[derive(Default)]
struct Databases {
    known: BTreeMap<PathBuf, bool>,
    read: u64,
}

impl Databases {
    /// Returns what speaks against a query of a database: a view of it may call the function `edit`, which starts a
    /// program. Its safe mode refuses that. Which database it is must be known.
    fn query(&mut self, words: &[Word]) -> Option<String> {
        let text = |word: &Word| word.value.clone().unwrap_or_default();
        let safe = words.windows(2).any(|pair| match pair {
            [before, word] => {
                matches!(text(word).as_str(), "-safe" | "--safe")
                    && !matches!(text(before).trim_start_matches('-'), "separator" | "nullvalue")
            }
            _ => false,
        });
        if safe {
            return None;
        }
        let open = |word: &Word| word.value.as_deref().is_none_or(|text| text.starts_with("file:")) || word.glob;
        if words.iter().any(open) {
            return Some(
                "“sqlite3” could start what a view of a database says, unless “-safe” forbids it.".to_string(),
            );
        }
        let files = words.iter().flat_map(Word::whole);
        // What was written last may stand in a file beside it.
        let mut files =
            files.flat_map(|file| ["", "-wal", "-journal"].map(|end| PathBuf::from(format!("{file}{end}"))));
        let file = files.find(|file| self.holds_view(file))?;
        Some(format!("“sqlite3” could start what a view in “{}” says, unless “-safe” forbids it.", file.display()))
    }

    fn holds_view(&mut self, file: &Path) -> bool {
        if let Some(known) = self.known.get(file) {
            return *known;
        }
        let size = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        let holds = size.is_some_and(|size| {
            self.read = self.read.saturating_add(size);
            self.read > MAX_DATABASE || holds_view(file)
        });
        self.known.insert(file.to_path_buf(), holds);
        holds
    }
}

/// Returns whether a file holds what makes a view, or cannot be looked through.
fn holds_view(file: &Path) -> bool {
    // SQLite itself stores the first; the others are made by hand. What is stored in two bytes a letter is not looked into.
    const MADE: &[&str] = &[
        "create view",
        "create temp",
        "create  ",
        "create\t",
        "create\n",
        "create\r",
        "create\u{c}",
        "create/",
        "create-",
        "c\0r\0e\0a\0t\0e",
    ];
    let Ok(found) = AhoCorasick::builder().ascii_case_insensitive(true).build(MADE) else { return true };
    let Ok(opened) = std::fs::canonicalize(file).and_then(|file| open::file(&file)) else { return true };
    let long = opened.metadata().is_ok_and(|metadata| metadata.len() > MAX_DATABASE);
    long || found.stream_find_iter(opened.take(MAX_DATABASE)).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::gate::place::guarded;
    use crate::domain::label::Privacy;

    #[test]
    fn what_a_program_carries_out_is_guarded_where_files_are_written() {
        let scope =
            Scope { project: "/p".to_string(), home: "/home".to_string(), may_see: Privacy::Open, ..Scope::bare() };
        for file in SETTINGS.iter().flat_map(|settings| settings.files) {
            let path = format!("/p/sub/{}", file.replace('*', "x"));
            assert!(guarded(&path, &scope).is_some() || guarded(&format!("{path}/x"), &scope).is_some(), "{file}");
        }
    }

    #[test]
    fn words_are_looked_for_only_where_they_cannot_be_spelt_otherwise() {
        for settings in SETTINGS {
            let spelt =
                |file: &&&str| [".toml", ".json", ".yml", ".yaml", ".properties"].iter().any(|end| file.ends_with(end));
            if let (Words(words), Some(file)) = (settings.says, settings.files.iter().find(spelt)) {
                assert!(words.contains(&"\\"), "{file}");
            }
        }
    }
}
