//! Setup files: what they say counts where the line stands, as in Org 9.7, within bounds, and never from elsewhere.

use passepartout::domain::id::ObjectHash;
use passepartout::domain::label::Privacy;
use passepartout::domain::memory::document::{PrivacyOptions, privacy, privacy_by_lines};
use passepartout::domain::org::outline::Outline;
use passepartout::domain::org::scan::{ScanOptions, scan};
use passepartout::domain::org::setup::{SetupText, SetupTexts, Setups, is_elsewhere};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Texts by their path, all in one folder.
struct Shelf(BTreeMap<String, String>);

impl SetupTexts for Shelf {
    fn place(&self, from: &str, name: &str) -> String {
        if is_elsewhere(name) {
            return name.to_owned();
        }
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{folder}/{name}")
    }

    fn text(&self, path: &str) -> Result<SetupText, String> {
        let text = self.0.get(path).ok_or("there is no such file")?;
        let hash = ObjectHash::new(*blake3::hash(text.as_bytes()).as_bytes());
        Ok(SetupText {
            text: text.as_str().into(),
            hash,
            privacy: if text.contains("PRIVACY private") { Privacy::Private } else { Privacy::Open },
        })
    }
}

fn read(text: &str, files: &[(&str, String)]) -> Outline {
    let files = files.iter().map(|(name, text)| (format!("/m/{name}"), text.clone()));
    let setups = Setups::new(Arc::new(Shelf(files.collect())));
    let options = ScanOptions { setups, ..ScanOptions::default() };
    scan(text.into(), &options.of("/m/main.org")).unwrap()
}

fn keywords(outline: &Outline) -> String {
    outline.keywords.iter().map(|keyword| keyword.name.as_ref()).collect::<Vec<_>>().join(" ")
}

/// Texts and what Emacs 30.1 makes of them.
#[test]
fn what_setup_files_say_counts_where_the_line_stands() {
    let main = "#+TODO: OWN | FERTIG\n#+SETUPFILE: \"base.org\"\n#+TODO: LATE\n#+PROPERTY: a own\n#+PROPERTY: b+ more\n#+CATEGORY: mine\n* WAIT x\n";
    let base = "#+TITLE: No title of it\n#+TODO: WAIT | GONE\n#+FILETAGS: :fs:\n#+STARTUP: odd\n#+SETUPFILE: deep.org\n#+PROPERTY: a base\n#+PROPERTY: b base\n#+CATEGORY: theirs\n#+begin_src org\n#+TODO: NOT\n#+end_src\n* A heading\n#+TODO: BELOW\n";
    let deep = "#+TODO: DEEP\n#+SETUPFILE: main.org\n#+SETUPFILE: deep.org\n#+SETUPFILE: again.org\n#+FILETAGS: deep\n";
    let files = [
        ("main.org", main.to_owned()),
        ("base.org", base.to_owned()),
        ("deep.org", deep.to_owned()),
        ("again.org", "#+FILETAGS: again\n".to_owned()),
    ];
    let outline = read(main, &files);
    assert_eq!(keywords(&outline), "OWN FERTIG WAIT GONE DEEP BELOW LATE");
    assert_eq!(outline.filetags, ["fs", "again", "deep"].map(Box::from));
    assert_eq!(outline.title, None);
    assert_eq!(outline.startup, [Box::from("odd")]);
    assert_eq!(outline.category.as_deref(), Some("mine"));
    let properties: Vec<_> = outline.properties.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(properties, ["A=own", "B=base more", "CATEGORY=theirs"]);
    assert_eq!(outline.slice(&outline.nodes[1].title), "x");
    let uses: Vec<_> = outline.setups.iter().map(|setup| (&*setup.path, setup.line)).collect();
    assert_eq!(uses, [("/m/base.org", 2), ("/m/deep.org", 2), ("/m/again.org", 2)]);
    // The same file may be named twice, and counts twice; without an own category theirs counts.
    let twice = read("#+SETUPFILE: again.org\n#+SETUPFILE: again.org\n#+SETUPFILE:\n* x\n", &files);
    assert_eq!(twice.filetags, ["again", "again"].map(Box::from));
    assert_eq!(read("#+SETUPFILE: base.org\n", &files).category.as_deref(), Some("theirs"));
    // Where a block holds the line it is none, and where no file is known nothing is read.
    assert!(read("#+begin_example\n#+SETUPFILE: again.org\n#+end_example\n", &files).setups.is_empty());
    let alone = scan(main.into(), &ScanOptions::default()).unwrap();
    assert_eq!((keywords(&alone), alone.setups.len()), ("OWN FERTIG LATE".to_owned(), 0));
}

#[test]
fn setup_files_are_read_within_bounds() {
    let problem = |outline: &Outline, path: &str| {
        let setup = outline.setups.iter().find(|setup| &*setup.path == path);
        setup.and_then(|setup| setup.problem.as_deref()).unwrap_or_default().to_owned()
    };
    let missing = read("* a\n\n#+SETUPFILE: nowhere.org\n", &[]);
    assert_eq!((&*missing.setups[0].path, missing.setups[0].line), ("/m/nowhere.org", 3));
    assert_eq!(problem(&missing, "/m/nowhere.org"), "there is no such file");
    assert_eq!(missing.setups[0].hash, None);
    // A chain ends somewhere.
    let names: Vec<String> = (0..20).map(|n| format!("{n}.org")).collect();
    let chain: Vec<_> =
        (0..20).map(|n| (names[n].as_str(), format!("#+FILETAGS: t{n}\n#+SETUPFILE: {}.org\n", n + 1))).collect();
    let deep = read("#+SETUPFILE: 0.org\n", &chain);
    assert_eq!(deep.filetags.len(), 8);
    assert_eq!(problem(&deep, "/m/8.org"), "too many setup files, or too long or too deep ones, lead to it");
    // Two lines in each file double what is read with each step down.
    let tree: Vec<_> = (0..20)
        .map(|n| (names[n].as_str(), format!("#+FILETAGS: t\n{}", format!("#+SETUPFILE: {}.org\n", n + 1).repeat(2))))
        .collect();
    let wide = read("#+SETUPFILE: 0.org\n", &tree);
    assert!((9..=32).contains(&wide.filetags.len()), "{}", wide.filetags.len());
    assert!(is_private(&wide) && is_private(&deep) && is_private(&missing), "what was left out may say so");
    let long = [("long.org", format!("#+FILETAGS: long\n{}", "x\n".repeat(300_000)))];
    assert_eq!(read("#+SETUPFILE: long.org\n#+SETUPFILE: long.org\n", &long).filetags.len(), 1);
    // What many small files could take over is small, too.
    let settings = |lines: usize| [("all.org", "#+FILETAGS: :a:b:c:\n".repeat(lines))];
    let few = read("#+SETUPFILE: all.org\n", &settings(2_000));
    assert_eq!((few.filetags.is_empty(), is_private(&few)), (false, false));
    let lots = read("#+SETUPFILE: all.org\n", &settings(20_000));
    assert_eq!((lots.filetags.is_empty(), is_private(&lots)), (true, true));
    assert_eq!(problem(&lots, "/m/all.org"), "too many setup files, or too long or too deep ones, lead to it");
    let twice = read(&"#+SETUPFILE: all.org\n".repeat(2), &settings(2_000));
    assert_eq!((&twice.filetags, is_private(&twice)), (&few.filetags, true));
    // What is not on this machine is not read, and what comes after the last that counts is left out.
    let many = "#+SETUPFILE: https://example.org/theme.setup\n".repeat(40);
    assert!(!is_private(&read(&many, &[])));
    assert!(is_private(&read(&format!("{many}#+SETUPFILE: main.org\n"), &[("main.org", String::new())])));
}

fn is_private(outline: &Outline) -> bool {
    privacy(outline, &PrivacyOptions::default()).first() == Some(&Privacy::Private)
}

#[test]
fn what_sets_up_privately_makes_all_of_it_private_whatever_comes_after() {
    let files = [
        ("open.org", "#+PROPERTY: PRIVACY no\n".to_owned()),
        ("a.org", "#+PROPERTY: PRIVACY private\n".to_owned()),
        ("both.org", "#+PROPERTY: PRIVACY private\n#+PROPERTY: PRIVACY no\n".to_owned()),
        ("deep.org", "#+SETUPFILE: a.org\n#+PROPERTY: PRIVACY no\n".to_owned()),
    ];
    for (text, private) in [
        ("#+SETUPFILE: open.org\n", false),
        ("#+SETUPFILE: a.org\n", true),
        ("#+SETUPFILE: a.org\n#+PROPERTY: PRIVACY no\n", true),
        ("#+SETUPFILE: a.org\n#+SETUPFILE: open.org\n", true),
        ("#+SETUPFILE: both.org\n", true),
        ("#+SETUPFILE: deep.org\n#+PROPERTY: PRIVACY no\n", true),
        ("#+SETUPFILE: open.org\n#+SETUPFILE: nowhere.org\n", true),
    ] {
        let outline = read(text, &files);
        assert_eq!(is_private(&outline), private, "{text}");
        assert_eq!(privacy_by_lines(&outline, &PrivacyOptions::default()) == Privacy::Private, private, "{text}");
    }
}

/// What Emacs 30.1 says to `org-url-p`, where that names another machine; everything else may be a file here.
#[test]
fn only_what_is_fetched_from_another_machine_is_elsewhere() {
    for name in ["https://example.org/a", "HTTP://example.org", "ftp://example.org/a", "gemini://example.org"] {
        assert!(is_elsewhere(name), "{name}");
    }
    for name in ["file:///memex/a.org", "file:a.org", "x://a.org", "://a.org", "a.org", "dir/https://a", "/ssh:host:/a"]
    {
        assert!(!is_elsewhere(name), "{name}");
    }
    assert!(is_private(&read("#+SETUPFILE: file:///memex/a.org\n", &[])), "it may say that all is private");
}
