//! Settings that a folder holds for a program, by which it carries out what the folder says before it shows anything.
//!
//! A program that only reads is harmless by its own doing. With such settings it starts what they name: they come with a
//! project as its scripts do, and nobody has read them.

use super::super::open;
use crate::domain::gate::facts::{CommandFact, ScriptFact};
use crate::domain::gate::place::is_below;
use crate::domain::scope::Scope;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The longest settings that are read, in bytes; longer ones count as saying everything.
const MAX_SETTINGS: u64 = 256 * 1024;
/// How many words of a command may be its program, behind others that start it.
const MAX_PROGRAM: usize = 8;

/// What a program looks for in its folder and those above, and the words by which it says what is started. Without any
/// such word, the file's being there suffices.
struct Settings {
    programs: &'static [&'static str],
    files: &'static [&'static str],
    says: &'static [&'static str],
}

const SETTINGS: &[Settings] = &[
    Settings {
        programs: &["cargo", "cargo-clippy", "cargo-fmt"],
        files: &[".cargo/config.toml", ".cargo/config"],
        says: &["rustc", "wrapper", "credential", "provider", "include", "\\"],
    },
    Settings {
        programs: &["cargo", "rustc", "rustup", "rustfmt", "rustdoc", "clippy-driver", "rust-analyzer"],
        files: &["rust-toolchain.toml", "rust-toolchain"],
        says: &["path", "\\"],
    },
    Settings { programs: &["yarn", "yarnpkg"], files: &[".yarnrc"], says: &["yarn-path", "\\"] },
    Settings { programs: &["yarn", "yarnpkg"], files: &[".yarnrc.yml"], says: &["yarnpath", "plugins", "\\"] },
    Settings { programs: &["pnpm", "pnpx"], files: &[".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js"], says: &[] },
    Settings {
        programs: &["pnpm", "pnpx"],
        files: &["pnpm-workspace.yaml"],
        says: &["pnpmfile", "configdependencies", "scriptshell", "\\"],
    },
    Settings {
        programs: &["npm", "npx", "pnpm", "pnpx"],
        files: &[".npmrc"],
        says: &["git", "node-options", "shell", "pnpmfile", "viewer", "browser", "editor", "prefix", "config", "\\"],
    },
    Settings {
        programs: &["pytest", "py.test"],
        files: &["conftest.py", "tests/conftest.py", "test/conftest.py"],
        says: &[],
    },
    Settings {
        programs: &["pytest", "py.test"],
        files: &["pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"],
        says: &["addopts", "testpaths", "pythonpath", "plugins"],
    },
    Settings {
        programs: &["mvn", "mvnd"],
        files: &[".mvn/jvm.config", ".mvn/maven.config", ".mvn/extensions.xml"],
        says: &[],
    },
    Settings { programs: &["gradle"], files: &["gradle.properties"], says: &["jvmargs", "java.home"] },
    Settings { programs: &["sbt"], files: &[".sbtopts", ".jvmopts", "project/build.properties"], says: &[] },
    Settings { programs: &["bazel", "bazelisk"], files: &["tools/bazel", ".bazelrc", ".bazeliskrc"], says: &[] },
    Settings { programs: &["rails"], files: &["bin/rails", "script/rails"], says: &[] },
    Settings { programs: &["jekyll", "bundle", "bundler"], files: &["Gemfile", ".bundle/config"], says: &[] },
    Settings {
        programs: &["rspec", "rubocop"],
        files: &[".rspec", ".rubocop", ".rubocop.yml"],
        says: &["require", "-r", "-i"],
    },
    Settings { programs: &["tox"], files: &["tox.ini", "tox.toml"], says: &["requires", "plugin"] },
    Settings { programs: &["flake8"], files: &[".flake8", "setup.cfg", "tox.ini"], says: &["local-plugins"] },
    Settings {
        programs: &["pylint"],
        files: &[".pylintrc", "pylintrc", "pyproject.toml", "setup.cfg", "tox.ini"],
        says: &["init-hook", "load-plugins"],
    },
    Settings {
        programs: &["ansible", "ansible-playbook", "ansible-doc", "ansible-config", "ansible-inventory"],
        files: &["ansible.cfg"],
        says: &[],
    },
    Settings { programs: &["composer"], files: &["vendor/composer/installed.json"], says: &[] },
    Settings { programs: &["vagrant"], files: &["Vagrantfile"], says: &[] },
];

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

/// Returns what programs of a script would carry out of the settings in the folders in which it runs.
pub(super) fn carried_out(script: &ScriptFact, folders: &[PathBuf], scope: &Scope) -> Vec<String> {
    let mut found = Vec::new();
    for name in script.commands.iter().flat_map(programs) {
        if name == "git" {
            found.extend(folders.iter().skip(1).filter_map(|folder| repository(folder, scope)));
        }
        for settings in SETTINGS.iter().filter(|settings| settings.programs.contains(&name)) {
            let places = folders.iter().flat_map(|folder| above(folder, scope));
            let mut files = places.flat_map(|folder| settings.files.iter().map(move |file| folder.join(file)));
            if let Some(file) = files.find(|file| says(file, settings.says)) {
                found.push(format!("“{name}” would carry out what “{}” says.", file.display()));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the names of the programs that a command may run: one of its first words, since others may start it.
fn programs(command: &CommandFact) -> impl Iterator<Item = &str> {
    let texts = command.words.iter().take(MAX_PROGRAM).filter_map(|word| word.value.as_deref());
    texts.map(|text| text.rsplit('/').next().unwrap_or(text))
}

/// Returns a folder and those above it, up to the project; what lies further up is the user's own.
fn above<'a>(folder: &'a Path, scope: &'a Scope) -> impl Iterator<Item = &'a Path> {
    let within = |folder: &&Path| is_below(&folder.to_string_lossy(), &scope.project);
    let first = std::iter::once(folder);
    first.chain(folder.ancestors().skip(1).take_while(within))
}

/// Returns whether a file is there and says one of these words; without any, whether it is there.
fn says(file: &Path, words: &[&str]) -> bool {
    let Ok(metadata) = std::fs::metadata(file) else { return false };
    if words.is_empty() || !metadata.is_file() || metadata.len() > MAX_SETTINGS {
        return true;
    }
    let mut text = String::new();
    let read = std::fs::canonicalize(file).and_then(|file| open::file(&file)).map(|file| file.take(MAX_SETTINGS));
    if !read.is_ok_and(|mut file| file.read_to_string(&mut text).is_ok()) {
        return true;
    }
    let text = text.to_ascii_lowercase();
    words.iter().any(|word| text.contains(word))
}

/// Returns what speaks against git in a folder that is, or lies in, a repository without a folder of its own for its
/// settings: such a one can be part of another's files.
fn repository(folder: &Path, scope: &Scope) -> Option<String> {
    let bare = |folder: &Path| ["HEAD", "config", "objects"].iter().all(|name| folder.join(name).exists());
    let found = above(folder, scope).find(|folder| bare(folder) && says(&folder.join("config"), GIT_STARTS))?;
    Some(format!("“git” would carry out what the repository “{}” says.", found.display()))
}
