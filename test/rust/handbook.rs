//! Skills of the common format: what front matter says, what is refused, and what a hostile folder comes to.

use passepartout::domain::skill::handbook::{Handbook, is_name, offers, read};
use passepartout::edge::skills::{Package, open, read_again};
use proptest::prelude::*;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn with(front: &str) -> String {
    format!("---\n{front}\n---\n# How\nFill the form.\n")
}

fn said(front: &str) -> Result<Handbook, String> {
    read("pdf-forms", &with(front)).map_err(|why| why.to_string())
}

#[test]
fn what_the_front_matter_says_is_read() {
    let check = |front: &str, description: &str, tools: &[&str]| {
        let handbook = said(front).unwrap_or_else(|why| panic!("{front}\n{why}"));
        assert_eq!((handbook.name.as_str(), handbook.description.as_str()), ("pdf-forms", description), "{front}");
        assert_eq!(handbook.allowed_tools, tools, "{front}");
        assert_eq!(handbook.body, "# How\nFill the form.");
    };
    let name = "name: pdf-forms\n";
    check(&format!("{name}description: Fills forms."), "Fills forms.", &[]);
    check(&format!("description: Fills forms.\n\n# a comment\n{name}"), "Fills forms.", &[]);
    check(&format!("{name}description: Fills forms. # not this"), "Fills forms.", &[]);
    check(&format!("{name}description: Use it when: a form is there"), "Use it when: a form is there", &[]);
    check(&format!("{name}description: Fills\n  forms,\n  slowly."), "Fills forms, slowly.", &[]);
    check(&format!("{name}description: >\n  Fills\n\n  forms."), "Fills forms.", &[]);
    check(&format!("{name}description: |-\n  Fills\n  forms."), "Fills forms.", &[]);
    check(&format!("{name}description:\n  Fills forms."), "Fills forms.", &[]);
    check(&format!("{name}description: \"Say \\\"fill\\\": # yes\" # no"), "Say \"fill\": # yes", &[]);
    check(&format!("{name}description: 'It''s a form'"), "It's a form", &[]);
    check(&format!("{name}description: \"Fills\n  # forms\""), "Fills # forms", &[]);
    let described = format!("{name}description: F.\n");
    check(&format!("{described}allowed-tools: Bash(git: *) Read"), "F.", &["Bash(git: *)", "Read"]);
    check(&format!("{described}allowed-tools: [Read, \"Bash(a, b)\"]"), "F.", &["Read", "Bash(a, b)"]);
    check(&format!("{described}allowed-tools:\n  - Read\n  - Write"), "F.", &["Read", "Write"]);
    check(&format!("{described}allowed-tools:\n- Read\n- Write"), "F.", &["Read", "Write"]);
    check(&format!("{described}metadata:\n  author: me\n  deep:\n    deeper: [1, {{a: b}}]"), "F.", &[]);
    let full = said(&format!("{described}license: MIT\ncompatibility: needs git\nversion: 2\nmodel: x")).unwrap();
    assert_eq!((full.license.as_deref(), full.compatibility.as_deref()), (Some("MIT"), Some("needs git")));
    assert_eq!(full.remarks, ["Nobody reads “version”, “model” of its front matter."]);
    let windows = with(&described).replace('\n', "\r\n");
    assert_eq!(read("pdf-forms", &format!("\u{feff}{windows}")).unwrap().description, "F.");
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    let good = "name: pdf-forms\ndescription: F.";
    let check = |text: &str, why: &str| {
        let found = read("pdf-forms", text).map(|handbook| handbook.name).map_err(|why| why.to_string());
        assert!(found.as_ref().is_err_and(|found| found.contains(why)), "{text}\n{found:?}\n{why}");
    };
    check("", "line 1: the front matter has no end");
    check("# A title\n", "line 1: a skill begins with a line “---”");
    check("---\nname: pdf-forms\n", "has no end");
    check(&format!("---\n{}---\nx", "#\n".repeat(600)), "has no end");
    check(&format!("---\n{good}\n---\n \n"), "line 4: nothing stands below the front matter");
    let front = |front: &str, why: &str| check(&with(front), why);
    front("description: F.", "has no “name:”");
    front("name: pdf-forms", "has no “description:”");
    front("name: pdf-forms\ndescription:", "line 3: “description” is empty");
    front(&format!("name: pdf-forms\ndescription: {}", "x".repeat(1025)), "at most 1024 characters, not 1025");
    front(&format!("{good}\nname: other"), "line 4: “name” stands there twice");
    front("name: PDF-Forms\ndescription: F.", "line 2: “PDF-Forms” is no name of a skill");
    front("name: ../pdf-forms\ndescription: F.", "is no name of a skill");
    front("name: excel\ndescription: F.", "it is called “excel” and lies in a folder “pdf-forms”");
    front("name: [pdf-forms]\ndescription: F.", "“name” is a text, and no list");
    front(&format!("{good}\nlicense: &a MIT"), "line 4: a value that begins with “&” is not read");
    front(&format!("{good}\nlicense: *a"), "begins with “*”");
    front(&format!("{good}\nlicense: !!python/object x"), "begins with “!”");
    front(&format!("{good}\nlicense: {{a: b}}"), "begins with “{”");
    front(&format!("{good}\nlicense: \"open"), "a quotation mark is not closed");
    front(&format!("{good}\nlicense: \"a\" b"), "something stands behind the closing quotation mark");
    front(&format!("{good}\nlicense: \"\\x41\""), "“\\x” is not read");
    front(&format!("{good}\nallowed-tools: [a, b"), "not closed");
    front(&format!("{good}\nallowed-tools: [[a]]"), "an item that begins with “[”");
    front(&format!("{good}\nallowed-tools:\n  a: b"), "“allowed-tools” is a list of names");
    front(&format!("{good}\nlicense: >3\n   x"), "“>3” is not read");
    front(&format!("{good}\nlicense:\n\tMIT"), "line 5: a tab");
    front(&format!("{good}\n<<: x"), "line 4: this is neither");
    front(&format!("{good}\n- x"), "line 4: this is neither");
}

#[test]
fn a_name_is_a_name_and_nothing_else() {
    for good in ["a", "pdf", "pdf-forms-2", "0", &"x".repeat(64)] {
        assert!(is_name(good), "{good}");
    }
    for bad in ["", "-", "a-", "-a", "a--b", "A", "a b", "a/b", "..", "a.b", "ä", "a\n", &"x".repeat(65)] {
        assert!(!is_name(bad), "{bad}");
    }
}

#[test]
fn what_the_model_is_told_is_one_bounded_line_each() {
    let handbook = |name: String, description: String| Handbook {
        name,
        description,
        license: None,
        compatibility: None,
        allowed_tools: Vec::new(),
        body: "x".to_string(),
        remarks: Vec::new(),
    };
    assert_eq!(offers(std::iter::empty()), None);
    let hostile = handbook("a".to_string(), format!("Fine.\u{202e} {}", "x".repeat(900)));
    let line = hostile.offer();
    assert!(line.chars().count() < 320 && line.ends_with('…') && !line.contains('\u{202e}'), "{line}");
    let many: Vec<Handbook> = (0..200).map(|n| handbook(format!("s{n}"), "y".repeat(200))).collect();
    let told = offers(many.iter()).unwrap();
    assert!(told.len() < 10 * 1024 && told.contains("- s0: ") && told.contains("more; skill-read"), "{told}");
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "(---\n)?([a-z:#>|\\[\\]\"'&*! \t\n-]|name: a\n|description: b\n|---\n){0,60}") {
        if let Ok(handbook) = read("a", &text) {
            prop_assert!(is_name(&handbook.name) && !handbook.description.contains('\n') && !handbook.body.is_empty());
        }
    }

    #[test]
    fn a_quoted_description_is_read_as_it_is(words in prop::collection::vec("[A-Za-z:#,'\\[{&*!-]{1,8}", 1..9)) {
        let description = words.join(" ");
        let double = description.replace('\\', "\\\\").replace('"', "\\\"");
        let single = description.replace('\'', "''");
        for front in [format!("\"{double}\""), format!("'{single}'")] {
            let handbook = read("a", &format!("---\nname: a\ndescription: {front}\n---\nx")).unwrap();
            prop_assert_eq!(&handbook.description, &description);
        }
    }
}

/// Makes a folder of a skill.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().join("pdf-forms");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("SKILL.md"), with("name: pdf-forms\ndescription: Fills forms.")).unwrap();
    for (name, bytes) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    base
}

fn opened(base: &Path) -> Result<Package, String> {
    open(&base.join("pdf-forms")).map(|(package, _)| package)
}

#[test]
fn all_files_count_and_are_shown() {
    let base = folder(&[
        ("references/fields.md", b"Fields."),
        ("scripts/fill.py", b"import os"),
        ("logo.png", &[0x89, 0, 1]),
        ("large.txt", &vec![b'x'; 300 * 1024]),
        (".git/config", b"[remote]"),
    ]);
    let package = opened(base.path()).unwrap();
    let names: Vec<&str> = package.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["SKILL.md", "large.txt", "logo.png", "references/fields.md", "scripts/fill.py"]);
    let shown = package.shown(&["nothing".to_string()]);
    for part in ["- nothing\n", "Fields.", "import os", "logo.png (3 bytes, not shown", "large.txt (307200 bytes, not"]
    {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let root = base.path().join("pdf-forms");
    let file = |name: &str| package.file(name).unwrap().clone();
    assert_eq!(read_again(&root, &file("references/fields.md")).unwrap(), "Fields.");
    assert!(read_again(&root, &file("logo.png")).unwrap_err().contains("no text"));
    // Any byte of any file changes the name of all.
    let before = package.hash();
    fs::write(root.join("logo.png"), [0x89, 0, 2]).unwrap();
    assert_ne!(opened(base.path()).unwrap().hash(), before);
    fs::write(root.join("logo.png"), [0x89, 0, 1]).unwrap();
    assert_eq!(opened(base.path()).unwrap().hash(), before);
    fs::write(root.join("more.md"), "").unwrap();
    assert_ne!(opened(base.path()).unwrap().hash(), before);
    fs::write(root.join("references/fields.md"), "Other.").unwrap();
    assert!(read_again(&root, &file("references/fields.md")).unwrap_err().contains("changed since"));
    // A link in its place leads nowhere.
    fs::remove_file(root.join("references/fields.md")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", root.join("references/fields.md")).unwrap();
    assert!(read_again(&root, &file("references/fields.md")).unwrap_err().contains("is a link"));
}

#[test]
fn a_hostile_folder_is_refused_and_nothing_outside_it_is_read() {
    let check = |what: &str, make: &dyn Fn(&Path), why: &str| {
        let base = folder(&[]);
        make(&base.path().join("pdf-forms"));
        let found = opened(base.path());
        assert!(found.as_ref().is_err_and(|found| found.contains(why)), "{what}: {found:?}");
    };
    let link = |to: &str, at: &Path| std::os::unix::fs::symlink(to, at).unwrap();
    check("a link out", &|root| link("/etc/passwd", &root.join("notes.md")), "notes.md is a link");
    check("a link to a folder", &|root| link("/etc", &root.join("references")), "references is a link");
    check("a link to nothing", &|root| link("nowhere", &root.join("a")), "a is a link");
    check(
        "SKILL.md as a link",
        &|root| {
            fs::rename(root.join("SKILL.md"), root.parent().unwrap().join("x.md")).unwrap();
            link("../x.md", &root.join("SKILL.md"));
        },
        "SKILL.md is a link",
    );
    check(
        "a pipe",
        &|root| assert!(std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success()),
        "pipe is no regular file",
    );
    check("a name with a newline", &|root| fs::write(root.join("a\nb"), "").unwrap(), "cannot be shown");
    check(
        "a name that is no UTF-8",
        &|root| fs::write(root.join(std::ffi::OsStr::from_bytes(b"a\xff")), "").unwrap(),
        "cannot be shown",
    );
    let deep = |root: &Path| fs::create_dir_all(root.join("a/b/c/d/e/f/g/h")).unwrap();
    check("deep folders", &deep, "go deeper than 6");
    let many = |root: &Path| (0..600).for_each(|n| fs::write(root.join(n.to_string()), "").unwrap());
    let inner = |root: &Path| fs::create_dir_all(root.join("references/.git")).unwrap();
    check("a repository in it", &inner, "references/.git is git's own");
    check("many files", &many, "more than 500 files");
    let large = |root: &Path| fs::File::create(root.join("large")).unwrap().set_len(65 << 20).unwrap();
    check("a huge file", &large, "makes it too large");
    check("binary", &|root| fs::write(root.join("SKILL.md"), [0xff, 0]).unwrap(), "SKILL.md is no text");
    let huge = |root: &Path| fs::write(root.join("SKILL.md"), vec![b'x'; 300 * 1024]).unwrap();
    check("a huge SKILL.md", &huge, "has more than 96 kB");
    check("no SKILL.md", &|root| fs::remove_file(root.join("SKILL.md")).unwrap(), "it has no SKILL.md");
}
