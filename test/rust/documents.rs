//! The documents say what the code does: commands, settings, messages, invariants, paths and links are compared.

use clap::CommandFactory;
use passepartout::domain::gate::permissions::default_level;
use passepartout::domain::gate::standard::standard;
use passepartout::domain::tool::Toolbox;
use passepartout::edge::cli::args::Arguments;
use passepartout::edge::config::{Config, IGNORED, READ, Surroundings};
use passepartout::edge::provider::known::{KNOWN, RECALL};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the files below a folder of the project with one of some endings, by name.
fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the project is readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().and_then(|end| end.to_str()).is_some_and(|end| endings.contains(&end)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn texts(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    let name = |path: &Path| path.strip_prefix(root()).unwrap_or(path).display().to_string();
    let text = |path: &Path| std::fs::read_to_string(path).expect("a source is text");
    files(folder, endings).iter().map(|path| (name(path), text(path))).collect()
}

/// The documents that people read, the demo memex and fixtures left out.
fn documents() -> Vec<(String, String)> {
    let mut all: Vec<_> =
        texts("docs", &["org"]).into_iter().filter(|(name, _)| !name.starts_with("docs/demo-memex")).collect();
    all.extend(texts("skills", &["org"]));
    all.extend(["README.md", "CHANGELOG.org", "CONTRIBUTING.org"].map(|name| (name.to_string(), read(name))));
    all
}

/// Returns what stands between `=` or `~` signs in a text, in order.
fn code(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        for mark in ['=', '~'] {
            let parts: Vec<&str> = line.split(mark).collect();
            // Every second part stands between two marks, as long as marks come in pairs.
            if parts.len() % 2 == 1 {
                found.extend(parts.iter().skip(1).step_by(2).map(ToString::to_string));
            }
        }
    }
    found
}

/// Returns the rows of the table behind `#+NAME: name`, without its head.
fn table(text: &str, name: &str) -> Vec<Vec<String>> {
    let rows: Vec<Vec<String>> = text
        .lines()
        .skip_while(|line| line.trim() != format!("#+NAME: {name}"))
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .filter(|line| !line.starts_with("|-"))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect())
        .collect();
    assert!(rows.len() > 1, "there is no table {name}");
    rows.into_iter().skip(1).collect()
}

/// Returns the text of a section, from its heading of level one to the next.
fn section<'a>(text: &'a str, title: &str) -> &'a str {
    let heading = format!("\n* {title}\n");
    let (_, behind) = text.split_once(&heading).unwrap_or_else(|| panic!("there is no section “{title}”"));
    behind.split_once("\n* ").map_or(behind, |(section, _)| section)
}

fn same<T: Ord + std::fmt::Debug>(what: &str, code: &BTreeSet<T>, document: &BTreeSet<T>) {
    let missing: Vec<_> = code.difference(document).collect();
    let invented: Vec<_> = document.difference(code).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "{what}: the document lacks {missing:?}, and has what the code has not: {invented:?}"
    );
}

/// Returns every command without commands below it, with its arguments: options as `--name`, others in capitals.
fn commands(command: &clap::Command, path: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        let path = format!("{path} {}", below.get_name()).trim().to_string();
        if below.has_subcommands() {
            commands(below, &path, found);
            if below.is_subcommand_required_set() {
                continue;
            }
        }
        let arguments =
            below.get_arguments().filter(|argument| !["help", "version"].contains(&argument.get_id().as_str()));
        let name = |argument: &clap::Arg| match argument.get_long() {
            Some(long) => format!("--{long}"),
            None => argument.get_id().as_str().to_ascii_uppercase(),
        };
        found.insert(path, arguments.map(name).collect());
    }
}

#[test]
fn the_manual_has_every_command() {
    let mut real = BTreeMap::new();
    commands(&Arguments::command(), "", &mut real);
    let manual = read("docs/manual.org");
    let rows = table(&manual, "commands");
    let told: BTreeMap<String, BTreeSet<String>> =
        rows.iter().map(|row| (code(&row[0]).concat(), code(&row[1]).into_iter().collect())).collect();
    assert_eq!(rows.len(), told.len(), "a command stands twice");
    same("commands", &real.keys().collect(), &told.keys().collect());
    for (command, arguments) in &real {
        same(&format!("arguments of {command}"), arguments, &told[command]);
    }
    let options: BTreeSet<String> =
        real.values().flatten().filter(|argument| argument.starts_with("--")).cloned().collect();
    let explained: BTreeSet<String> =
        table(&manual, "options").iter().filter_map(|row| code(&row[0]).into_iter().next()).collect();
    same("options", &options, &explained);
}

#[test]
fn the_manual_has_every_setting() {
    let manual = read("docs/manual.org");
    let rows = table(&manual, "settings");
    let column = |n: usize| -> BTreeSet<String> { rows.iter().flat_map(|row| code(&row[n])).collect() };
    same("variables", &READ.iter().map(ToString::to_string).collect(), &column(1));
    let ignored = table(&manual, "ignored");
    let told: BTreeSet<(String, String)> = ignored.iter().map(|row| (code(&row[0]).concat(), row[1].clone())).collect();
    same("ignored variables", &IGNORED.iter().map(|(n, why)| (n.to_string(), why.to_string())).collect(), &told);
    let mut options = BTreeSet::new();
    for (_, text) in texts("lisp", &["el"]) {
        let names = text.lines().filter_map(|line| line.strip_prefix("(defcustom "));
        options.extend(names.filter_map(|rest| rest.split_whitespace().next()).map(str::to_string));
    }
    assert!(options.len() > 5, "the options of the Lisp are not found any more");
    same("options of Emacs", &options, &column(0));
}

#[test]
fn the_defaults_in_the_manual_are_those_of_the_code() {
    let config = Config::read(&Surroundings::default());
    let manual = read("docs/manual.org");
    let rows = table(&manual, "settings");
    let told = |name: &str| rows.iter().find(|row| code(&row[1]).contains(&name.to_string())).map(|row| row[3].clone());
    let real = [
        ("MEMEX_ASSISTANT", config.assistant),
        ("CONTEXT_MAX_TOKENS", config.context_tokens.to_string()),
        ("CONTEXT_LOG_LIMIT", config.log_lines.to_string()),
        ("DEADLINE_WARNING_MINUTES", config.deadline_minutes.to_string()),
        ("CONNECT_TIMEOUT", config.connect_timeout.to_string()),
        ("REQUEST_TIMEOUT", config.request_timeout.to_string()),
        ("STALL_TIMEOUT", config.stall_timeout.to_string()),
        ("ANSWER_TIMEOUT", config.answer_timeout.to_string()),
        ("EMBEDDING_TIMEOUT", config.embedding_timeout.to_string()),
        ("REQUEST_TRIES", config.request_tries.to_string()),
        ("RETRY_WAIT", config.retry_wait.to_string()),
        ("CONSENSUS_TIMEOUT", config.consensus_timeout.to_string()),
        ("BACKGROUND_TIMEOUT", config.background_timeout.to_string()),
        ("MEMORY_AUTO_SAVE_INTERVAL", config.auto_save.to_string()),
        ("MEMORY_SAVE_ON_EXIT", config.save_on_exit.to_string()),
        ("MEMORY_HISTORY_RETENTION", config.history_days.to_string()),
        ("CONTEXT_SEMANTIC_THRESHOLD", config.semantic_threshold.to_string()),
        ("PLAN_HOURS", config.plan_hours.to_string()),
        ("DRY_RUN", config.dry_run.to_string()),
        ("SELF_BUILD_MODE", config.self_build.to_string()),
    ];
    for (name, default) in real {
        assert_eq!(told(name), Some(default), "{name}");
    }
}

#[test]
fn the_tables_of_tools_providers_and_gates_are_those_of_the_code() {
    let manual = read("docs/manual.org");
    let first = |rows: Vec<Vec<String>>| -> BTreeSet<String> { rows.iter().flat_map(|row| code(&row[0])).collect() };
    let tools = Toolbox::builtin().all().map(|tool| tool.name.to_string()).collect();
    same("tools", &tools, &first(table(&manual, "tools")));
    let providers = KNOWN.iter().map(|known| known.name).chain([RECALL]).map(str::to_string).collect();
    same("providers", &providers, &first(table(&manual, "providers")));
    for row in table(&manual, "tools") {
        let tool = Toolbox::builtin().all().find(|tool| code(&row[0]).contains(&tool.name.to_string()));
        let level = format!("{:?}", default_level(tool.expect("a tool of the table exists"))).to_lowercase();
        assert_eq!(code(&row[1]).concat(), level, "{}", row[0]);
    }
    let gates =
        standard(Vec::new()).iter().map(|gate| (gate.name().to_string(), gate.priority().to_string())).collect();
    let told = table(&read("docs/SAFETY.org"), "gates").iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    same("gates", &gates, &told);
}

#[test]
fn the_arguments_of_tools_stand_where_rules_are_explained() {
    let told = |tool: &passepartout::domain::tool::Tool| {
        let named = tool.params.iter().map(|param| match param.required {
            true => param.name.to_string(),
            false => format!("[{}]", param.name),
        });
        format!("{}: {}", tool.name, named.collect::<Vec<_>>().join(" "))
    };
    let here: BTreeSet<String> = Toolbox::builtin().all().map(told).collect();
    let rows = table(&read("docs/manual.org"), "arguments");
    let there = rows.iter().map(|row| format!("{}: {}", code(&row[0]).concat(), row[1])).collect();
    same("arguments of tools", &here, &there);
}

/// Returns the quoted names that stand in the body of a function, as a pattern of this file finds them.
fn quoted(text: &str, begin: &str, end: &str, keep: impl Fn(&str, &str) -> bool) -> BTreeSet<String> {
    let body = text.split_once(begin).unwrap_or_else(|| panic!("“{begin}” is not in the source any more")).1;
    let body = body.split_once(end).map_or(body, |(body, _)| body);
    let mut found = BTreeSet::new();
    for line in body.lines() {
        let parts: Vec<&str> = line.split('"').collect();
        for n in (1..parts.len()).step_by(2) {
            let is_name = parts[n].chars().all(|c| c.is_ascii_lowercase() || c == '-') && !parts[n].is_empty();
            if is_name && keep(parts[n - 1], parts.get(n + 1).unwrap_or(&"")) {
                found.insert(parts[n].to_string());
            }
        }
    }
    found
}

#[test]
fn the_protocol_has_every_message() {
    let protocol = read("docs/PROTOCOL.org");
    let words: BTreeSet<&str> =
        protocol.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).filter(|word| !word.is_empty()).collect();
    let sensors = quoted(&read("src/domain/signal.rs"), "impl Sensor {", "\n    }\n\n    /// Finds", |before, _| {
        before.trim_end().ends_with("=>")
    });
    assert_eq!(sensors.len(), 20, "the list of sensors is closed: {sensors:?}");
    let requests = quoted(&read("src/edge/runtime/request.rs"), "\nrequests! {", "\n}\n", |before, _| {
        before.trim_end().ends_with('=')
    });
    assert!(requests.contains("rescan") && requests.contains("doctor-fix"), "{requests:?}");
    let settings = quoted(&read("src/edge/config.rs"), "pub fn take_settings", "fn take_provider", |before, after| {
        before.ends_with('(') && after.starts_with(')')
    });
    assert!(settings.contains("directories"), "{settings:?}");
    let mut sent = BTreeSet::new();
    for (_, text) in texts("src/edge", &["rs"]) {
        for after in text.split(".keyword(\"action\", \"").skip(1) {
            sent.extend(after.split('"').next().map(str::to_string));
        }
    }
    assert!(sent.contains("turn-done"), "{sent:?}");
    let all = sensors.iter().chain(&requests).chain(&settings).chain(&sent);
    let missing: Vec<_> = all.filter(|name| !words.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "docs/PROTOCOL.org does not have {missing:?}");
}

/// Returns the names of all tests there are: of Rust, and of Lisp.
pub(crate) fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, text) in texts("test/rust", &["rs"]).into_iter().chain(texts("src", &["rs"])) {
        let mut marked = false;
        let mut in_proptest = false;
        for line in text.lines().map(str::trim) {
            in_proptest |= line.starts_with("proptest! {");
            marked |= ["#[test]", "#[tokio::test"].iter().any(|mark| line.starts_with(mark));
            let name = line.trim_start_matches("async ").strip_prefix("fn ").and_then(|rest| rest.split('(').next());
            if let Some(name) = name {
                if marked || in_proptest {
                    found.insert(name.to_string());
                }
                marked = false;
            }
        }
    }
    for (_, text) in texts("test/lisp", &["el"]) {
        let names = text.lines().filter_map(|line| line.strip_prefix("(ert-deftest "));
        found.extend(names.filter_map(|rest| rest.split_whitespace().next()).map(str::to_string));
    }
    found
}

/// Returns the invariants: number, text.
fn invariants() -> Vec<(usize, String)> {
    let document = read("docs/ARCHITECTURE.org");
    let mut found: Vec<(usize, String)> = Vec::new();
    for line in section(&document, "Invariants").lines() {
        let numbered = line.split_once(". ").and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
        match (numbered, found.last_mut()) {
            (Some((number, rest)), _) => found.push((number, rest.to_string())),
            (None, Some((_, text))) if line.starts_with("  ") => text.push_str(&format!(" {}", line.trim())),
            (None, _) => {}
        }
    }
    found
}

#[test]
fn every_invariant_names_a_test_that_exists_or_says_that_none_does() {
    let (invariants, tests) = (invariants(), tests());
    assert!(invariants.len() >= 10, "the invariants are not found any more");
    let mut wrong = Vec::new();
    let mut unheld = BTreeSet::new();
    for (n, (number, text)) in invariants.iter().enumerate() {
        if *number != n + 1 {
            wrong.push(format!("{number} stands at place {}", n + 1));
        }
        match (text.split_once("Held by "), text.contains("not yet held by a test")) {
            (None, true) => {
                unheld.insert(*number);
            }
            (Some((_, names)), false) => {
                let names = code(names);
                if names.is_empty() {
                    wrong.push(format!("{number} names no test"));
                }
                let missing = names.iter().filter(|name| !tests.contains(*name));
                wrong.extend(missing.map(|name| format!("{number}: there is no test {name}")));
            }
            _ => wrong.push(format!("{number} must name its tests or say that it is not yet held by a test")),
        }
    }
    assert!(wrong.is_empty(), "docs/ARCHITECTURE.org:\n{}", wrong.join("\n"));
    let shortcomings = read("docs/SHORTCOMINGS.org");
    let named = section(&shortcomings, "Invariants that no test holds yet")
        .lines()
        .filter_map(|line| {
            line.trim().strip_prefix("- Invariant ")?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        })
        .collect();
    same("invariants without a test in docs/SHORTCOMINGS.org", &unheld, &named);
}

#[test]
fn paths_in_documents_exist() {
    let tops = ["src/", "lisp/", "test/", "docs/", "skills/"];
    let mut wrong = Vec::new();
    for (name, text) in documents() {
        for path in code(&text).into_iter().filter(|path| tops.iter().any(|top| path.starts_with(top))) {
            if !path.contains(['*', '…', ' ']) && !root().join(&path).exists() {
                wrong.push(format!("{name}: {path}"));
            }
        }
    }
    assert!(wrong.is_empty(), "paths that lead nowhere:\n{}", wrong.join("\n"));
}

/// Returns where the links of a document lead: Org and Markdown, without addresses of the web.
fn links(text: &str) -> Vec<String> {
    let org = text.split("[[").skip(1).filter_map(|rest| rest.split_once("]]").map(|(link, _)| link));
    let org = org.filter_map(|link| link.split("][").next());
    let markdown = text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(link, _)| link));
    org.chain(markdown).map(|link| link.strip_prefix("file:").unwrap_or(link).to_string()).collect()
}

#[test]
fn links_between_documents_resolve() {
    let mut wrong = Vec::new();
    for (name, text) in documents() {
        let folder = root().join(&name).parent().map(Path::to_path_buf).unwrap_or_default();
        for link in links(&text) {
            let good = match link.strip_prefix('*') {
                Some(title) => text.lines().any(|line| line.trim_start_matches('*').trim() == title),
                None if link.contains("://") => true,
                None => !link.contains(['/', '.']) || folder.join(&link).exists() || is_awaited(&link),
            };
            if !good {
                wrong.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
}

/// Pictures are taken from the running program; while there is none at all, links to them are not looked at.
fn is_awaited(link: &str) -> bool {
    link.ends_with(".png") && files("docs", &["png"]).is_empty()
}

#[test]
fn every_document_has_a_title_and_every_lisp_file_a_commentary() {
    let mut wrong = Vec::new();
    for (name, text) in documents().into_iter().filter(|(name, _)| name.ends_with(".org")) {
        let first = text.lines().next().unwrap_or_default();
        if !first.to_ascii_uppercase().starts_with("#+TITLE: ") {
            wrong.push(format!("{name} does not begin with #+TITLE:"));
        }
    }
    let lisp = texts("lisp", &["el"]).into_iter().chain(texts("test/lisp", &["el"]));
    for (name, text) in lisp.chain(texts("test/scripts", &["el"])) {
        if !text.contains("\n;;; Commentary:\n") || !text.contains("\n;;; Code:\n") {
            wrong.push(format!("{name} has no Commentary"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns what the Lisp defines, of any kind, and its tests.
fn lisp_names() -> BTreeSet<String> {
    let heads = [
        "(defun ",
        "(cl-defun ",
        "(defcustom ",
        "(defvar ",
        "(defface ",
        "(define-minor-mode ",
        "(define-globalized-minor-mode ",
        "(transient-define-prefix ",
    ];
    let all = texts("lisp", &["el"]).into_iter().chain(texts("test/lisp", &["el"]));
    let mut found = BTreeSet::new();
    for (_, text) in all {
        for line in text.lines() {
            let more = ["(define-error '", "(ert-deftest ", "(provide '"];
            let rest = heads.iter().chain(&more).find_map(|head| line.strip_prefix(head));
            let name = rest.and_then(|rest| rest.split_whitespace().next());
            found.extend(name.map(|name| name.trim_end_matches(')').to_string()));
        }
    }
    found
}

#[test]
fn what_documents_name_of_the_lisp_exists_and_every_command_is_in_the_manual() {
    let defined = lisp_names();
    let others = [
        "passepartout-run",
        "passepartout-scratch",
        "passepartout-skill-gate",
        "passepartout-skill-job",
        "passepartout-skill-on-error",
    ];
    for (name, text) in documents() {
        for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || "-/._".contains(c))) {
            let is_name = word.starts_with("passepartout-") && !word.contains(['.', '/']) && !others.contains(&word);
            assert!(!is_name || defined.contains(word) || word.contains("--"), "{name}: there is no {word}");
        }
    }
    let manual = read("docs/manual.org");
    let entry = read("lisp/passepartout.el");
    let commands =
        entry.split("(autoload '").skip(1).filter(|rest| rest.split(")\n").next().is_some_and(|a| a.ends_with(" t")));
    let commands: Vec<&str> = commands.filter_map(|rest| rest.split_whitespace().next()).collect();
    assert!(commands.len() > 8, "the commands are not found any more: {commands:?}");
    for command in commands.into_iter().filter(|command| *command != "passepartout-chat-mode") {
        assert!(manual.contains(&format!("M-x {command}=")), "the manual does not have {command}");
    }
}

#[test]
fn the_make_words_in_documents_exist() {
    let makefile = read("Makefile");
    let targets: BTreeSet<&str> = makefile
        .lines()
        .filter(|line| line.contains("## ") && line.starts_with(|c: char| c.is_ascii_lowercase()))
        .filter_map(|line| line.split(':').next())
        .collect();
    for (name, text) in documents() {
        let spans =
            code(&text).into_iter().chain(text.split('`').map(str::to_string)).chain(text.lines().map(str::to_string));
        for word in spans.filter_map(|span| span.strip_prefix("make ")?.split_whitespace().next().map(str::to_string)) {
            assert!(targets.contains(word.as_str()), "{name}: there is no “make {word}”");
        }
    }
}

/// Returns the sources with what stands behind `#[cfg(test)]` cut off, by name.
fn sources(folder: &str) -> Vec<(String, String)> {
    let cut = |text: String| text.split("#[cfg(test)]").next().unwrap_or_default().to_string();
    texts(folder, &["rs"]).into_iter().map(|(name, text)| (name, cut(text))).collect()
}

#[test]
fn a_clearance_is_closed() {
    // That no other file makes one is a test beside those of the turn; this is what makes it true.
    let text = read("src/domain/gate/clearance.rs");
    for kind in ["Cleared", "Rehearsal"] {
        let start = format!("pub struct {kind} {{");
        let (before, behind) = text.split_once(&start).expect("the clearance stands in its file");
        let fields = behind.split('}').next().unwrap_or_default();
        assert!(!fields.contains("pub"), "a field of {kind} is open:{fields}");
        let derives = before.lines().rev().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        for way in ["Clone", "Copy", "Default", "Deserialize"] {
            assert!(
                !derives.contains(way) && !text.contains(&format!("{way} for {kind}")),
                "a {kind} can be made by {way}"
            );
        }
    }
    assert!(
        !text.contains("\nmod ") && !text.contains("\npub mod "),
        "a module below could open the clearance's fields"
    );
    let port = read("src/domain/port.rs");
    assert!(
        port.contains("fn perform(&self, turn: &TurnId, cleared: Cleared)"),
        "an actuator takes a clearance, by value"
    );
    assert!(port.contains("fn rehearse(&self, rehearsal: Rehearsal, "), "what tries takes leave to try, by value");
}

#[test]
fn what_acts_stands_in_one_folder() {
    // What changes the user's files or starts programs, and the files that may.
    let acts: &[(&str, &[&str])] = &[
        // The editors of several clients are one editor, which the actuator asks.
        ("editor.edit(", &["src/edge/actuator/edit.rs", "src/edge/runtime/clients.rs"]),
        // A skill that does not come to be loaded has its file put back.
        ("write::replace(", &["src/edge/actuator/edit.rs", "src/edge/actuator/skill.rs"]),
        ("sandbox::run(", &[]),
        // The doctor's canaries try what must never happen, confined, with a listener of their own.
        ("Task::Bash", &["src/edge/sandbox.rs", "src/edge/actuator/shell.rs", "src/edge/canaries.rs"]),
        // A human's own command tells the user's systemd of its unit, in words of ours; what the agent started may not.
        // A human at the terminal client has an editor of their own, which gets the name of a file of what they typed.
        (
            "Command::new(",
            &[
                "src/edge/sandbox.rs",
                "src/edge/sandbox/kept.rs",
                "src/edge/sandbox/talk.rs",
                "src/edge/cli/service.rs",
                "src/edge/tui/aside.rs",
            ],
        ),
        // Servers of MCP are programs that the user declared; what is asked of them goes through the actuator.
        (" talk(", &["src/edge/sandbox/talk.rs", "src/edge/engine/servers.rs"]),
        ("call_server(", &["src/edge/engine/servers.rs", "src/edge/actuator/served.rs"]),
        ("run_reaching(", &["src/edge/sandbox.rs", "src/edge/actuator/shell.rs"]),
        // Whoever comes through a listener of our own is one; none is opened to anybody. Programs come in by the lobby,
        // where the user wants that, with the cookie, and from other machines by TLS with a key that was let in. To such
        // a core a command leads that a human or a program of theirs starts; what the agent started may not. The user's
        // signal-cli is met on this machine alone.
        (
            "TcpStream",
            &[
                "src/edge/sandbox/proxy.rs",
                "src/edge/provider/shown.rs",
                "src/edge/runtime/lobby.rs",
                "src/edge/cli/reach.rs",
                "src/edge/gateway/signal/line.rs",
            ],
        ),
        // What a provider would be sent is sent to a listener of our own and shown: only the library that makes requests
        // knows their bytes, and it gives them to nothing but a connection. Cassettes are recorded and played there.
        (
            "TcpListener",
            &[
                "src/edge/sandbox.rs",
                "src/edge/sandbox/proxy.rs",
                "src/edge/sandbox/talk.rs",
                "src/edge/canaries.rs",
                "src/edge/provider/shown.rs",
                "src/edge/runtime/lobby.rs",
            ],
        ),
        ("UnixListener", &["src/edge/peers/place.rs"]),
    ];
    let mut wrong = Vec::new();
    for (name, text) in sources("src").into_iter().filter(|(name, _)| !name.starts_with("src/bin/")) {
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let found = acts.iter().filter(|(word, files)| line.contains(word) && !files.contains(&name.as_str()));
            wrong.extend(found.map(|(word, _)| format!("{name}: {word}")));
        }
    }
    assert!(wrong.is_empty(), "acts outside the actuators:\n{}", wrong.join("\n"));
}

#[test]
fn no_safety_answer_has_a_default() {
    let answers =
        ["Verdict", "Level", "Effect", "Rights", "Judgement", "Cleared", "Approval", "PlanStatus", "Privacy", "Trust"];
    let mut wrong = Vec::new();
    for (name, text) in sources("src") {
        for answer in answers {
            if text.contains(&format!("impl Default for {answer} ")) {
                wrong.push(format!("{name}: {answer} has a default"));
            }
            for kind in ["enum", "struct"] {
                let head = format!("pub {kind} {answer}");
                let declared = text.split(&head).next().filter(|before| before.len() < text.len());
                let above =
                    declared.map(|before| before.lines().rev().take_while(|line| !line.is_empty() && *line != "}"));
                if above.is_some_and(|mut lines| lines.any(|line| line.contains("derive(") && line.contains("Default")))
                {
                    wrong.push(format!("{name}: {answer} derives a default"));
                }
            }
        }
    }
    let gate = read("src/domain/gate/mod.rs");
    let body =
        gate.split_once("pub trait Gate").and_then(|(_, rest)| rest.split_once("\n}")).expect("the trait of gates").0;
    let functions = body.lines().filter(|line| line.trim_start().starts_with("fn "));
    wrong.extend(
        functions.filter(|line| !line.ends_with(';')).map(|line| format!("the trait Gate has a default: {line}")),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_checks_bite() {
    assert_eq!(code("a =b= and =c=, ~d~"), ["b", "c", "d"]);
    assert_eq!(code("1 = 2"), Vec::<String>::new());
    assert_eq!(links("[[file:a.org][b]] [c](d.md) [[*E][e]]"), ["a.org", "*E", "d.md"]);
    let found = quoted("fn f() {\n  \"a\" | \"b\" => 1,\n  g(\"c\")\n}\n", "fn f()", "\n}", |before, after| {
        before.ends_with('(') && after.starts_with(')')
    });
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["c"]);
    assert!(tests().contains("the_checks_bite") && !tests().contains("links"), "tests are told from other functions");
}

#[test]
fn what_must_be_survived_names_tests_that_exist_and_steps_that_run_them() {
    let (document, soak, tests) = (read("docs/ARCHITECTURE.org"), read("test/scripts/soak.sh"), tests());
    let rows: Vec<Vec<&str>> = section(&document, "What must be survived")
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| what happens"))
        .map(|line| line.split(" | ").collect())
        .collect();
    assert!(rows.len() >= 15, "the table is not found any more");
    for row in rows {
        let [what, named, steps] = row.as_slice() else { panic!("three columns: {row:?}") };
        let (named, steps) = (code(named), code(steps));
        assert!(!named.is_empty() && !steps.is_empty(), "{what}");
        for name in named {
            assert!(tests.contains(&name), "{what}: there is no test {name}");
        }
        for step in steps {
            assert!(soak.contains(&format!("\n{step}() {{\n")), "{what}: the soak has no step {step}");
        }
    }
}
