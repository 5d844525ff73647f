//! Who may import whom: `bridge → edge → domain`, read from the text of the sources.

use std::path::{Path, PathBuf};

/// Words that a folder must never mention.
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "src/domain",
        &[
            "crate::edge",
            "crate::bridge",
            "emacs::",
            "std::fs",
            "std::net",
            "std::process",
            "std::env",
            "std::thread",
            "SystemTime::now",
            "Instant::now",
            "Timestamp::now",
            "Zoned::now",
            "tokio",
            "reqwest",
            "rusqlite",
            "genai",
        ],
    ),
    ("src/edge", &["crate::bridge", "emacs::"]),
    // Gates of which none is mandatory are for tests only.
    ("src", &["Gates::for_tests"]),
    ("src/bin/passepartout-run.rs", &["passepartout::"]),
    ("src/bin/run", &["passepartout::"]),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(at: &Path) -> Vec<PathBuf> {
    if at.is_file() {
        return vec![at.to_path_buf()];
    }
    let mut found = Vec::new();
    let mut folders = vec![at.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of the project is readable") {
            let path = entry.expect("an entry of the project is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns a source up to the tests at its foot.
fn without_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

/// Returns the forbidden words of a text, comments left out.
fn offences(text: &str, words: &[&str]) -> Vec<String> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .flat_map(|(n, line)| {
            words.iter().filter(|word| line.contains(**word)).map(move |word| format!("{}: {word}", n + 1))
        })
        .collect()
}

#[test]
fn arrows_point_one_way() {
    let mut bad = Vec::new();
    for (folder, words) in FORBIDDEN {
        for path in sources(&root().join(folder)) {
            let text = std::fs::read_to_string(&path).expect("a source is text");
            // The domain is pure in its own tests, too; elsewhere a test may set up what the program may not.
            let text = if folder.starts_with("src/domain") { &text } else { without_tests(&text) };
            bad.extend(offences(text, words).into_iter().map(|o| format!("{}:{o}", path.display())));
        }
    }
    assert!(bad.is_empty(), "imports that point the wrong way:\n{}", bad.join("\n"));
}

#[test]
fn providers_are_made_for_the_cascade_alone() {
    // What asks a provider itself is in no ledger and under no cap; a request that is shown asks a listener of our own.
    // A test of a key is in the ledger and under the caps by itself.
    let may =
        ["engine/key_test.rs", "engine/model.rs", "provider/reading.rs", "provider/replay.rs", "provider/shown.rs"];
    let knows = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a source is text");
        let words = ["provider::served::Served", "provider::served::{Served"];
        !offences(without_tests(&text), &words).is_empty()
    };
    let found: Vec<PathBuf> = sources(&root().join("src")).into_iter().filter(knows).collect();
    assert_eq!(found, may.map(|name| root().join("src/edge").join(name)));
}

#[test]
fn the_check_bites() {
    assert_eq!(offences("fn f() {}\nuse std::fs;\n// std::fs\n", &["std::fs"]), ["2: std::fs"]);
    assert_eq!(without_tests("use a;\n\n#[cfg(test)]\nmod tests {\n    use b;\n}\n"), "use a;\n");
    assert_eq!(without_tests("#[cfg(test)]\nmod deep;\nuse b;\n"), "#[cfg(test)]\nmod deep;\nuse b;\n");
}

#[test]
fn every_source_says_its_job() {
    let mut silent = Vec::new();
    for path in sources(&root().join("src")).into_iter().chain(sources(&root().join("test/rust"))) {
        let text = std::fs::read_to_string(&path).expect("a source is text");
        if !text.starts_with("//! ") {
            silent.push(path.display().to_string());
        }
    }
    assert!(silent.is_empty(), "files without a first line that says their job:\n{}", silent.join("\n"));
}
