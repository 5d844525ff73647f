//! Which files run, or decide what runs, without being asked: writing them is more than writing a file.

use super::glob::Patterns;
use super::secret::{plain_forms, small};
use super::{Zone, zone};
use crate::domain::scope::Scope;
use std::sync::LazyLock;

static NAMES: LazyLock<Patterns> = LazyLock::new(|| Patterns::new(GUARDED_NAMES));

/// Builds the table now, so that no verdict pays for it.
pub(super) fn prepare() {
    LazyLock::force(&NAMES);
}

/// Returns why writing a canonical path is more than writing a file; `None` when it is not.
pub fn guarded(path: &str, scope: &Scope) -> Option<&'static str> {
    let lower = small(path);
    let base = lower.rsplit('/').next().unwrap_or("");
    if plain_forms(base).iter().any(|form| NAMES.fit(form)) {
        return Some("such a file runs, or decides what runs, when somebody opens or builds its folder");
    }
    let anchored = format!("{lower}/");
    if GUARDED_FOLDERS.iter().any(|folder| holds(&anchored, folder)) {
        return Some("what stands there runs, or decides what runs, without being asked");
    }
    match zone(path, scope) {
        Zone::System => Some("it belongs to the system"),
        Zone::Own | Zone::Project | Zone::Memex | Zone::Home | Zone::Scratch => None,
    }
}

fn holds(anchored: &str, folder: &str) -> bool {
    let (stem, open) = match folder.strip_suffix('*') {
        Some(stem) => (stem, true),
        None => (folder.trim_end_matches('/'), false),
    };
    anchored.match_indices(stem).any(|(at, _)| {
        let starts = at == 0 || anchored.as_bytes().get(at - 1) == Some(&b'/');
        let ends = open || anchored.as_bytes().get(at + stem.len()) == Some(&b'/');
        starts && ends
    })
}

/// Names of files that run, or decide what runs, when somebody merely opens or builds a folder.
const GUARDED_NAMES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".xinitrc",
    ".xsession",
    ".xprofile",
    ".vimrc",
    ".gvimrc",
    ".exrc",
    ".nvimrc",
    ".emacs",
    ".emacs.el",
    "early-init.el",
    "init.el",
    "default.el",
    "site-start.el",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".projectile",
    ".eglot-workspace.el",
    ".gitconfig",
    ".gitmodules",
    ".gitattributes",
    ".hgrc",
    ".envrc",
    ".direnvrc",
    ".editorconfig-checker.json",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".mcp.json",
    "mcp.json",
    "authorized_keys*",
    "makefile",
    "gnumakefile",
    "*.mk",
    "justfile",
    "rakefile",
    "package.json",
    "conftest.py",
    "setup.py",
    "sitecustomize.py",
    "usercustomize.py",
    "build.rs",
    "pip.conf",
    ".pythonrc",
    ".irbrc",
    ".gdbinit",
    ".lldbinit",
    ".wgetrc",
    ".curlrc",
    ".screenrc",
    ".tmux.conf",
    ".lesskey",
    ".ripgreprc",
    ".rgignore-exec",
    "crontab",
    ".tool-versions",
    ".mise.toml",
    "lefthook.yml",
    ".lefthook.yml",
    "eask",
    ".claude.json",
    "claude.md",
    "agents.md",
    ".cursorrules",
    ".windsurfrules",
    "*.desktop",
    "*.eln",
    "*.elc",
    "abbrev_defs",
    "custom.el",
    "vagrantfile",
    "jenkinsfile",
    ".gitlab-ci.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "tasks.json",
    "launch.json",
];

/// Folders whose content runs or decides what runs. Compared as parts of the path.
const GUARDED_FOLDERS: &[&str] = &[
    ".git/hooks/",
    ".git/config",
    ".git/info/attributes",
    ".git/modules/",
    ".husky/",
    ".githooks/",
    ".vscode/",
    ".idea/",
    ".claude/settings*",
    ".claude/commands/",
    ".claude/agents/",
    ".claude/hooks/",
    ".claude/skills/",
    ".claude/plugins/",
    ".cursor/",
    ".codex/",
    ".gemini/",
    ".kimi/",
    ".opencode/",
    ".amp/",
    ".windsurf/",
    ".zed/",
    ".nah/",
    ".cargo/config*",
    ".github/workflows/",
    ".github/actions/",
    ".gitlab/",
    ".circleci/",
    ".devcontainer/",
    ".config/autostart/",
    ".config/systemd/",
    ".config/fish/",
    ".config/git/",
    ".config/pip/",
    ".config/direnv/",
    ".config/environment.d/",
    ".config/emacs/",
    ".config/nvim/",
    ".config/zsh/",
    ".emacs.d/",
    ".doom.d/",
    ".local/bin/",
    ".local/share/systemd/",
    ".local/share/applications/",
    ".ssh/",
    ".gnupg/",
    ".ipython/",
    ".jupyter/",
    ".vim/",
    ".mozilla/",
    "library/launchagents/",
    ".init.d/",
    "bin/activate",
    ".venv/bin/",
    "node_modules/.bin/",
];
