//! Where a path lies and what it is worth: roots, secret files, files that run later.
//!
//! Pure judgements on canonical paths. Names are compared without regard to case, since
//! some file systems make no difference, and without the suffixes of copies and backups.

use crate::domain::scope::Scope;

/// Which part of the machine a canonical path lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Zone {
    /// Our own store, settings or cache.
    Own,
    /// The project.
    Project,
    /// The memex.
    Memex,
    /// Elsewhere in somebody's home.
    Home,
    /// Folders for what is thrown away.
    Scratch,
    /// Everything else.
    System,
}

/// Returns which part of the machine a canonical path lies in; the most protected first.
pub fn zone(path: &str, scope: &Scope) -> Zone {
    let inside = |root: &str| is_below(path, root);
    if scope.own.iter().any(|root| inside(root)) {
        Zone::Own
    } else if inside(&scope.project) {
        Zone::Project
    } else if scope.memex.iter().any(|root| inside(root)) {
        Zone::Memex
    } else if inside(&scope.home) || ["/home", "/root", "/Users"].iter().any(|root| inside(root)) {
        Zone::Home
    } else if ["/tmp", "/var/tmp"].iter().any(|root| inside(root)) {
        Zone::Scratch
    } else {
        Zone::System
    }
}

/// Returns whether a canonical path is a root or lies below it.
pub fn is_below(path: &str, root: &str) -> bool {
    let root = root.trim_end_matches('/');
    !root.is_empty() && path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// File names that hold secrets wherever they lie. `*` stands for anything.
const SECRET_NAMES: &[&str] = &[
    ".env",
    ".env.*",
    ".envrc.private",
    ".netrc",
    "_netrc",
    ".authinfo",
    "authinfo",
    ".authinfo.gpg",
    "authinfo.gpg",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".git-credentials",
    ".dockercfg",
    ".htpasswd",
    ".s3cfg",
    ".boto",
    ".msmtprc",
    ".mbsyncrc",
    ".fetchmailrc",
    ".getmailrc",
    ".offlineimaprc",
    ".vault-token",
    ".rclone.conf",
    "rclone.conf",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.pkcs12",
    "*.jks",
    "*.keystore",
    "*.keypair",
    "*.kdbx",
    "*.kdb",
    "*.ppk",
    "*.asc.key",
    "*.keytab",
    "*.agekey",
    "*.tfvars",
    "*.tfstate",
    "*.ovpn",
    "id_rsa",
    "id_rsa[-_.]*",
    "id_dsa",
    "id_dsa[-_.]*",
    "id_ecdsa",
    "id_ecdsa[-_.]*",
    "id_ed25519",
    "id_ed25519[-_.]*",
    "*_rsa",
    "*_dsa",
    "*_ecdsa",
    "*_ed25519",
    "credentials",
    "credentials.json",
    "credentials.db",
    "credentials.yml",
    "credentials.yaml",
    "credentials.toml",
    "credentials.xml",
    "credentials.csv",
    ".credentials",
    ".credentials.json",
    "secrets",
    "secrets.json",
    "secrets.yml",
    "secrets.yaml",
    "secrets.toml",
    "secrets.env",
    "secret.json",
    "secret.yml",
    "secret.yaml",
    "*.secret",
    "*.secrets",
    "master.key",
    "client_secret*.json",
    "service[-_]account*.json",
    "auth.json",
    "wp-config.php",
    "private-keys-v1.d",
    "secring.*",
    "kubeconfig",
    "*.kubeconfig",
    ".dbshell",
    "passwords",
    "passwords.txt",
    "passwords.csv",
    "*.token",
    "token.json",
    "tokens.json",
    "session-cache.json",
    ".mcp.json",
    "logins.json",
    "key4.db",
    "login data",
    "cookies",
    "cookies.sqlite",
    ".bash_history",
    ".zsh_history",
    ".psql_history",
    ".mysql_history",
    ".python_history",
    ".node_repl_history",
    ".sqlite_history",
    "shadow",
    "shadow-",
    "gshadow",
    "gshadow-",
    ".pam_environment.private",
    "accesstokens.json",
    "msal_token_cache*",
    "application_default_credentials.json",
    "tramp-secrets",
    "oauth_token*",
    "oauth_creds*",
];

/// Names that look like secrets and are made to be shared.
const OPEN_NAMES: &[&str] = &[
    "*.pub",
    "*.example",
    "*.sample",
    "*.template",
    "*.dist",
    "*.md",
    ".env.defaults",
    ".env.schema",
    ".env.sample.*",
    ".env.example.*",
    "*.pem.txt",
    "known_hosts.example",
];

/// Folders and files of a home that hold secrets; what ends in `/` with everything below it.
const SECRET_HOME: &[&str] = &[
    ".ssh/",
    ".gnupg/",
    ".aws/",
    ".azure/",
    ".kube/",
    ".docker/config.json*",
    ".config/gcloud/",
    ".config/gh/hosts.yml",
    ".config/hub",
    ".config/sops/",
    ".config/op/",
    ".config/doctl/",
    ".config/configstore/",
    ".config/git/credentials",
    ".config/rclone/",
    ".config/google-chrome/",
    ".config/chromium/",
    ".config/brave*/",
    ".config/cursor/",
    ".config/amp/settings.json*",
    ".config/opencode/opencode.json*",
    ".config/containers/auth.json",
    ".config/age/",
    ".config/authinfo*",
    ".mozilla/",
    ".thunderbird/",
    ".password-store/",
    ".local/share/keyrings/",
    ".local/share/password-store/",
    ".local/share/kwalletd/",
    ".local/share/amp/secrets.json",
    ".local/share/opencode/",
    ".cargo/credentials*",
    ".gem/credentials",
    ".gradle/gradle.properties",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".terraform.d/credentials*",
    ".irssi/config",
    ".weechat/sec.conf",
    ".weechat/irc.conf",
    ".claude.json",
    ".claude/settings*.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".codex/.credentials.json",
    ".codex/config.toml",
    ".gemini/",
    ".cursor/mcp.json",
    ".cursor/auth.json",
    ".cursor/projects/",
    ".kimi/config.toml",
    ".kimi/mcp.json",
    ".kimi/credentials/",
    ".kimi-code/",
    ".copilot/",
    ".amp/oauth/",
    ".config/github-copilot/",
    ".emacs.d/auto-save-list/",
    ".emacs.d/.authinfo*",
    ".emacs.d/plstore*",
    ".emacs.d/network-security.data",
    ".emacs.d/elpa/gnupg/",
    ".lastpass/",
    ".vault-token",
    ".minikube/",
    ".oci/",
    ".databrickscfg",
    ".snowsql/",
    ".netlify/",
    ".fly/",
    ".electrum/",
    ".bitcoin/",
    ".ethereum/",
    "Library/Keychains/",
    "Mail/",
    "Maildir/",
    ".mail/",
    ".purple/",
    ".config/Signal/",
];

/// System places that hold secrets; what ends in `/` with everything below it.
const SECRET_SYSTEM: &[&str] = &[
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/sudoers*",
    "/etc/sudoers.d/",
    "/etc/ssl/private/",
    "/etc/ssh/ssh_host_*",
    "/etc/ssh/id_*",
    "/etc/krb5.keytab",
    "/etc/security/opasswd",
    "/etc/wireguard/",
    "/etc/openvpn/",
    "/etc/NetworkManager/system-connections/",
    "/etc/wpa_supplicant/",
    "/etc/opencode/",
    "/root/",
    "/run/secrets/",
    "/var/run/secrets/",
    "/run/credentials/",
    "/run/user/*/gnupg/",
    "/run/user/*/keyring/",
    "/run/ssh*/",
    "/var/lib/private/",
    "/var/lib/docker/",
    "/var/lib/systemd/credential*/",
    "/proc/*/environ",
    "/proc/*/mem",
    "/proc/*/fd/",
    "/proc/*/root/",
    "/proc/*/cwd/",
    "/proc/*/maps",
    "/proc/*/task/",
    "/proc/kcore",
    "/proc/kmem",
    "/dev/mem",
    "/dev/kmem",
    "/dev/port",
    "/Library/Application Support/opencode/",
    "/Library/Keychains/",
    "/boot/efi/secrets/",
    "/var/spool/cron/",
    "/var/mail/",
    "/var/spool/mail/",
];

/// Returns why a canonical path names a secret file; `None` when it names none.
pub fn secret(path: &str, scope: &Scope) -> Option<&'static str> {
    if scope.own.iter().any(|root| is_below(path, root)) {
        return Some("it belongs to Passepartout itself");
    }
    let lower = path.to_lowercase();
    if SECRET_SYSTEM.iter().any(|pattern| matches_place(&pattern.to_lowercase(), &lower)) {
        return Some("the system keeps secrets there");
    }
    let homes = [scope.home.to_lowercase()];
    let in_home = homes.iter().find_map(|home| lower.strip_prefix(home.as_str())).or_else(|| of_any_home(&lower));
    if let Some(rest) = in_home.map(|rest| rest.trim_start_matches('/'))
        && SECRET_HOME.iter().any(|pattern| matches_place(&pattern.to_lowercase(), rest))
    {
        return Some("keys, passwords or private data are kept there");
    }
    secret_name(&lower)
}

/// Returns why the last parts of a path name a secret file, by name alone.
pub fn secret_name(path: &str) -> Option<&'static str> {
    let lower = path.to_lowercase();
    // Only in names from Windows does a backslash part folders.
    let windows = lower.get(1..2) == Some(":") || lower.starts_with("\\\\");
    let parts: Vec<&str> =
        lower.split(|c| c == '/' || (windows && c == '\\')).filter(|part| !part.is_empty() && *part != ".").collect();
    let last = parts.last().copied().unwrap_or("");
    let forms = plain_forms(last);
    let vendored = parts.iter().rev().skip(1).any(|part| matches!(*part, "node_modules" | "vendor" | "site-packages"));
    let below_secret =
        parts.iter().rev().skip(1).any(|part| matches!(*part, "private-keys-v1.d" | ".gnupg" | ".password-store"));
    if below_secret {
        return Some("keys or passwords are kept there");
    }
    let prose = last.split_whitespace().count() > 3;
    let hit = !prose
        && forms.iter().any(|form| {
            !OPEN_NAMES.iter().any(|pattern| matches(pattern, form))
                && SECRET_NAMES.iter().any(|pattern| matches(pattern, form))
        });
    (hit && !vendored).then_some("its name is that of a file with keys or passwords")
}

/// Returns whether an unquoted pattern could name a secret file that a plain `*` would not.
pub fn pattern_may_be_secret(pattern: &str) -> bool {
    let lower = pattern.to_lowercase();
    let samples = [
        ".env",
        ".env.local",
        ".ssh",
        ".gnupg",
        ".aws",
        ".netrc",
        ".authinfo",
        ".authinfo.gpg",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        "id_rsa",
        "id_ed25519",
        "id_ecdsa",
        "credentials",
        "shadow",
        "gshadow",
        ".pgpass",
        ".kube",
        "server.key",
        "server.pem",
        "secrets.yaml",
        "environ",
        "auth.json",
        ".config",
        "passwords.kdbx",
    ];
    lower.split('/').any(|part| {
        let special = part.contains(['*', '?', '[']);
        // A bare `*` skips hidden files in a shell; `*.txt` names no secret of the list.
        special && part != "*" && part != "**" && samples.iter().any(|sample| matches(part, sample))
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

/// Returns why writing a canonical path is more than writing a file; `None` when it is not.
pub fn guarded(path: &str, scope: &Scope) -> Option<&'static str> {
    let lower = path.to_lowercase();
    let base = lower.rsplit('/').next().unwrap_or("");
    if plain_forms(base).iter().any(|form| GUARDED_NAMES.iter().any(|pattern| matches(pattern, form))) {
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

/// Returns the rest of a path below any user's home.
fn of_any_home(lower: &str) -> Option<&str> {
    if let Some(rest) = lower.strip_prefix("/root/") {
        return Some(rest);
    }
    ["/home/", "/users/"].iter().find_map(|root| {
        let rest = lower.strip_prefix(root)?;
        rest.split_once('/').map(|(_, below)| below)
    })
}

fn matches_place(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('/') {
        Some(folder) if folder.contains('*') => {
            let depth = folder.matches('/').count();
            let head: Vec<&str> = path.splitn(depth + 2, '/').take(depth + 1).collect();
            matches(folder, &head.join("/"))
        }
        Some(folder) => path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')),
        None => matches(pattern, path),
    }
}

/// Returns a name and what is left of it without the marks of backups, copies, auto-saves and line numbers.
fn plain_forms(name: &str) -> Vec<String> {
    let mut forms = vec![name.to_string()];
    let trimmed = name.trim_matches(|c: char| c == '#' || c == '~' || c.is_whitespace());
    // Emacs writes a backup's folders with `!` in place of `/`.
    let trimmed = trimmed.rsplit('!').next().unwrap_or(trimmed);
    let cut = trimmed.split(['#', ':']).next().unwrap_or(trimmed);
    for form in [trimmed, cut] {
        let mut form = form;
        for _ in 0..3 {
            forms.push(form.to_string());
            let Some(shorter) = BACKUP_SUFFIXES.iter().find_map(|suffix| form.strip_suffix(suffix)) else { break };
            form = shorter;
        }
    }
    forms.retain(|form| !form.is_empty());
    forms.dedup();
    forms
}

const BACKUP_SUFFIXES: &[&str] = &[
    "~", ".bak", ".backup", ".orig", ".old", ".save", ".saved", ".swp", ".swo", ".tmp", ".copy", " copy", "-old",
    "-backup", "_old", "_backup", ".1", ".gpg", ".age", ".enc", ".gz", ".zip",
];

/// Returns whether a text fits a pattern with `*`, `?` and `[…]`. Linear but for the number of stars.
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0usize, 0usize);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some('?') => Some(p + 1),
            Some('[') => set(&pattern, p, text[t]),
            Some(c) if *c == text[t] => Some(p + 1),
            Some(_) | None => None,
        };
        match (step, retry) {
            (Some(next), _) => {
                p = next;
                t += 1;
            }
            (None, Some((star, from))) => {
                p = star;
                t = from + 1;
                retry = Some((star, from + 1));
            }
            (None, None) => return false,
        }
    }
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|c| *c == '*'))
}

/// Returns where the pattern goes on when a set at `at` holds the character.
fn set(pattern: &[char], at: usize, c: char) -> Option<usize> {
    let mut i = at + 1;
    let negated = matches!(pattern.get(i), Some('!' | '^'));
    if negated {
        i += 1;
    }
    let start = i;
    let mut found = false;
    while let Some(now) = pattern.get(i) {
        if *now == ']' && i > start {
            return (found != negated).then_some(i + 1);
        }
        match (pattern.get(i + 1), pattern.get(i + 2)) {
            (Some('-'), Some(end)) if *end != ']' => {
                found |= *now <= c && c <= *end;
                i += 3;
            }
            _ => {
                found |= *now == c;
                i += 1;
            }
        }
    }
    (c == '[').then_some(at + 1)
}
