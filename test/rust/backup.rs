//! Backups with the built program: taken while the store is in use, whole or refused, and nothing is ever lost.

use crate::cli::{Ran, program, run};
use crate::support::engine::Home;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const TILES: &str = "* Kitchen\n** TODO Order tiles\n:PROPERTIES:\n:ID: tiles\n:END:\nThe white ones.\n";

/// A home with a plan that waits in its store, settings with a key, and a skill.
fn home() -> (Home, String) {
    let home = Home::new(&[("home.org", TILES)]);
    std::fs::create_dir(home.file("sub")).expect("a folder");
    std::fs::write(home.file("sub/more.org"), "* More\n").expect("a file");
    let settings = settings(&home);
    std::fs::create_dir_all(settings.join("skills")).expect("a folder");
    std::fs::write(settings.join("prices.org"), "mine\n").expect("a file");
    std::fs::write(settings.join(".env"), "# mine\nPLAN_HOURS=48\nOPENAI_API_KEY=topsecretvalue\n").expect("a file");
    std::fs::set_permissions(settings.join(".env"), std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    let asked = run(&home, &["ask", "mark order tiles done", "--json"]);
    assert_eq!(asked.status, 3, "{asked:?}");
    let plan = asked.json()["plans"][0]["id"].as_str().expect("an id").to_string();
    (home, plan)
}

fn base(home: &Home) -> PathBuf {
    home.folder.path().canonicalize().expect("it is there")
}

fn settings(home: &Home) -> PathBuf {
    base(home).join("config/passepartout")
}

fn backup(home: &Home, name: &str, more: &[&str]) -> (String, Ran) {
    let file = base(home).join(name).display().to_string();
    let words: Vec<&str> = ["backup", &file, "--json"].into_iter().chain(more.iter().copied()).collect();
    let ran = run(home, &words);
    (file, ran)
}

fn names(file: &str) -> Vec<String> {
    let mut archive = tar::Archive::new(std::fs::File::open(file).expect("it is there"));
    let entries = archive.entries().expect("a tar");
    entries.map(|entry| entry.expect("whole").path().expect("a name").display().to_string()).collect()
}

#[test]
fn a_backup_is_taken_while_the_store_is_in_use_and_has_no_keys() {
    let (home, _) = home();
    let mut daemon = program(&home);
    let mut daemon = daemon.arg("daemon").stderr(Stdio::null()).spawn().expect("it runs");
    while run(&home, &["status"]).status != 0 {
        std::thread::yield_now();
    }
    let (file, ran) = backup(&home, "one.tar", &["--memex"]);
    daemon.kill().expect("it can be killed");
    daemon.wait().expect("it ends");
    assert_eq!(ran.status, 0, "{ran:?}");
    let mode = std::fs::metadata(&file).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let names = names(&file);
    for name in [
        "store/memory.sqlite",
        "store/memory.log",
        "settings/.env",
        "settings/prices.org",
        "memex/0/home.org",
        "memex/0/sub/more.org",
    ] {
        assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
    }
    assert_eq!(names.last().map(String::as_str), Some("manifest.json"));
    let bytes = std::fs::read(&file).expect("it is there");
    let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(!has("topsecretvalue") && has("PLAN_HOURS=48"));
    assert_eq!(backup(&home, "one.tar", &[]).1.status, 1, "a file that is there stays");
    let (file, ran) = backup(&home, "keys.tar", &["--with-keys"]);
    let bytes = std::fs::read(&file).expect("it is there");
    assert!(ran.status == 0 && bytes.windows(14).any(|part| part == b"topsecretvalue"));
    let left: Vec<_> = std::fs::read_dir(base(&home)).expect("a folder").map(|e| e.expect("one").file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains(".part")), "{left:?}");
}

#[test]
fn what_stays_in_the_stores_folder_is_named() {
    let (home, _) = home();
    run(&home, &["ask", "what is due?"]);
    let store = home.store();
    std::fs::create_dir(store.join("conversations")).expect("a folder");
    for name in ["cookie", "key.pem", "clients", "calls.unreadable"] {
        std::fs::write(store.join(name), "x").expect("a file");
    }
    let (file, ran) = backup(&home, "one.tar", &[]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let left = ran.json()["left_out"].to_string();
    for name in ["conversations", "cookie", "key.pem", "clients", "calls.unreadable"] {
        assert!(left.contains(&format!("{}: ", store.join(name).display())), "{name}: {left}");
        assert!(!names(&file).iter().any(|found| found.contains(name)), "{name}");
    }
    for own in ["memory.sqlite", "memory.log", "/lock: ", "/socket: "] {
        assert!(!left.contains(own), "{own}: {left}");
    }
}

#[test]
fn a_backup_that_lies_among_the_notes_does_not_hold_itself() {
    let (home, _) = home();
    let (file, ran) = backup(&home, "memex/sub/own.tar", &["--memex"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let names = names(&file);
    assert!(names.iter().any(|name| name == "memex/0/sub/more.org"), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("own.tar")), "{names:?}");
    assert_eq!(run(&home, &["restore", &file, "--check"]).status, 0);
    let left: Vec<_> =
        std::fs::read_dir(home.file("sub")).expect("a folder").map(|e| e.expect("one").file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_store_is_put_back_and_what_was_there_lies_aside() {
    let (home, plan) = home();
    let (file, ran) = backup(&home, "one.tar", &["--memex"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let refused = run(&home, &["restore", &file]);
    assert_eq!(refused.status, 4, "{refused:?}");
    assert!(refused.err.contains("--force"), "{refused:?}");
    // Afterwards more happens, which must not be lost.
    std::fs::write(home.file("home.org"), "* Another\n").expect("a file");
    std::fs::write(settings(&home).join("prices.org"), "theirs\n").expect("a file");
    let ran = run(&home, &["restore", &file, "--force", "--memex", "--json"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let aside: Vec<(String, String)> = ran.json()["aside"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| (row["was"].as_str().expect("text").into(), row["is"].as_str().expect("text").into()))
        .collect();
    let of = |end: &str| aside.iter().find(|(was, _)| was.ends_with(end)).unwrap_or_else(|| panic!("{end}: {aside:?}"));
    assert_eq!(std::fs::read_to_string(&of("home.org").1).expect("it is there"), "* Another\n");
    assert_eq!(std::fs::read_to_string(&of("prices.org").1).expect("it is there"), "theirs\n");
    assert!(Path::new(&of("state/passepartout").1).join("memory.sqlite").exists());
    assert_eq!(home.read_file("home.org"), TILES);
    assert_eq!(std::fs::read_to_string(settings(&home).join("prices.org")).expect("it is there"), "mine\n");
    let env = std::fs::read_to_string(settings(&home).join(".env")).expect("it is there");
    assert!(env.contains("topsecretvalue"), "a key that the backup lacks stays: {env}");
    let verified = run(&home, &["memory", "verify"]);
    assert_eq!(verified.status, 0, "{verified:?}");
    let plans = run(&home, &["plans", "list", "--json"]).json();
    assert_eq!(plans["plans"][0]["id"].as_str(), Some(plan.as_str()), "{plans}");
}

#[test]
fn a_backup_goes_to_an_empty_place_without_force() {
    let (home, plan) = home();
    let (file, _) = backup(&home, "one.tar", &[]);
    let elsewhere = base(&home).join("elsewhere").display().to_string();
    let ran = run(&home, &["restore", &file, "--store", &elsewhere]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let plans = run(&home, &["plans", "list", "--json", "--store", &elsewhere]).json();
    assert_eq!(plans["plans"][0]["id"].as_str(), Some(plan.as_str()), "{plans}");
    assert_eq!(run(&home, &["restore", &file, "--store", &elsewhere]).status, 4);
}

#[test]
fn what_is_left_of_another_store_is_not_taken_for_a_part_of_this_one() {
    let (home, plan) = home();
    let (file, _) = backup(&home, "one.tar", &[]);
    for name in
        ["memory.sqlite-wal", "memory.sqlite-shm", "memory.sqlite-journal", "memory.sqlite.mending", "memory.log"]
    {
        let elsewhere = base(&home).join(format!("with-{name}"));
        std::fs::create_dir(&elsewhere).expect("a folder");
        std::fs::write(elsewhere.join(name), "of another\n").expect("a file");
        let store = elsewhere.display().to_string();
        let refused = run(&home, &["restore", &file, "--store", &store]);
        assert!(refused.status == 4 && refused.err.contains("--force"), "{name}: {refused:?}");
        assert!(!elsewhere.join("memory.sqlite").exists(), "{name}");
        let ran = run(&home, &["restore", &file, "--store", &store, "--force", "--json"]);
        assert_eq!(ran.status, 0, "{name}: {ran:?}");
        let json = ran.json();
        let aside = json["aside"].as_array().expect("a list").iter().find(|row| row["was"] == store.as_str());
        let aside = Path::new(aside.expect("the folder")["is"].as_str().expect("text")).join(name);
        assert_eq!(std::fs::read_to_string(aside).expect("it is there"), "of another\n", "{name}");
        let plans = run(&home, &["plans", "list", "--json", "--store", &store]).json();
        assert_eq!(plans["plans"][0]["id"].as_str(), Some(plan.as_str()), "{name}: {plans}");
    }
}

#[test]
fn a_store_is_locked_before_anything_is_put_back() {
    let (home, _) = home();
    let (file, _) = backup(&home, "one.tar", &[]);
    std::fs::remove_file(settings(&home).join("prices.org")).expect("it is there");
    // Nobody holds this lock, and nobody can take it.
    let elsewhere = base(&home).join("elsewhere");
    std::fs::create_dir_all(elsewhere.join("lock")).expect("a folder");
    let store = elsewhere.display().to_string();
    let refused = run(&home, &["restore", &file, "--store", &store, "--force"]);
    assert!(refused.status == 1 && refused.err.contains("nothing was put back"), "{refused:?}");
    assert!(!settings(&home).join("prices.org").exists());
    let left: Vec<_> = std::fs::read_dir(&elsewhere).expect("a folder").map(|e| e.expect("one").file_name()).collect();
    assert_eq!(left, ["lock"]);
    // Where another store is moved aside, the new one comes with its own lock, which nobody holds any more.
    let ran = run(&home, &["restore", &file, "--force", "--json"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(std::fs::read(home.store().join("lock")).expect("it came with the store"), b"");
    let names = std::fs::read_dir(home.store()).expect("a folder").map(|e| e.expect("one").file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["lock", "memory.log", "memory.sqlite"]);
    assert_eq!(run(&home, &["memory", "verify"]).status, 0);
}

#[test]
fn what_may_be_run_and_when_it_was_changed_come_back_with_a_file() {
    let (home, _) = home();
    let (script, note) = (PathBuf::from(home.file("sub/do.sh")), PathBuf::from(home.file("sub/more.org")));
    std::fs::write(&script, "#!/bin/sh\n").expect("a file");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o4755)).expect("it is ours");
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let env = settings(&home).join(".env");
    for path in [&script, &note, &env] {
        let file = std::fs::File::options().append(true).open(path).expect("it is there");
        file.set_modified(long_ago).expect("it is ours");
    }
    let (file, ran) = backup(&home, "one.tar", &["--memex"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    for path in [&script, &note, &env] {
        std::fs::remove_file(path).expect("it is there");
    }
    let ran = run(&home, &["restore", &file, "--force", "--memex"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    for (path, mode) in [(&script, 0o700), (&note, 0o600), (&env, 0o600)] {
        let about = std::fs::metadata(path).expect("it is there");
        assert_eq!(about.permissions().mode() & 0o7777, mode, "{path:?}");
        assert_eq!(about.modified().expect("a time"), long_ago, "{path:?}");
    }
}

#[test]
fn a_link_that_leads_nowhere_is_in_the_way() {
    let (home, _) = home();
    let (file, _) = backup(&home, "one.tar", &[]);
    let (prices, elsewhere) = (settings(&home).join("prices.org"), base(&home).join("elsewhere").display().to_string());
    std::fs::remove_file(&prices).expect("it is there");
    std::os::unix::fs::symlink(base(&home).join("nowhere"), &prices).expect("a link");
    let ran = run(&home, &["restore", &file, "--store", &elsewhere]);
    assert!(ran.status == 4 && ran.err.contains("prices.org is there and another one"), "{ran:?}");
    assert!(prices.is_symlink());
    assert_eq!(run(&home, &["restore", &file, "--store", &elsewhere, "--force"]).status, 0);
    assert!(!prices.is_symlink() && !base(&home).join("nowhere").exists());
    assert_eq!(std::fs::read_to_string(&prices).expect("it is there"), "mine\n");
}

#[test]
fn where_the_notes_go_is_said_and_looked_at() {
    let (home, _) = home();
    let (file, ran) = backup(&home, "one.tar", &["--memex"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let memex = Path::new(&home.file("")).canonicalize().expect("it is there").display().to_string();
    let checked = run(&home, &["restore", &file, "--check"]);
    assert!(checked.out.contains(&format!("It has notes of {memex}; --memex puts them back there.")), "{checked:?}");
    let checked = run(&home, &["restore", &file, "--check", "--json"]).json();
    assert_eq!(checked["memex"][0].as_str(), Some(memex.as_str()), "{checked}");
    let ran = run(&home, &["restore", &file, "--memex", "--force"]);
    assert!(ran.status == 0 && ran.out.contains(&format!("Its notes of {memex} go back there.")), "{ran:?}");

    // An archive of somebody else may say anything: that notes lay in the settings, or in the home folder.
    let before = std::fs::read(home.store().join("memory.sqlite")).expect("it is there");
    for place in [settings(&home).join("skills"), base(&home), base(&home).join(".ssh")] {
        let bad = base(&home).join("bad.tar");
        std::fs::write(&bad, moved(&std::fs::read(&file).expect("it is there"), &memex, &place)).expect("a file");
        let bad = bad.display().to_string();
        let ran = run(&home, &["restore", &bad, "--memex", "--force"]);
        assert!(ran.status == 4 && ran.err.contains("nothing was put back"), "{place:?}: {ran:?}");
        assert!(ran.err.contains(&format!("notes lay in {}, and", place.display())), "{place:?}: {ran:?}");
        assert!(!place.join("home.org").exists(), "{place:?}");
        assert_eq!(std::fs::read(home.store().join("memory.sqlite")).expect("it is there"), before, "{place:?}");
        assert_eq!(run(&home, &["restore", &bad, "--check"]).status, 0, "{place:?}");
    }
}

/// An archive whose manifest says that its notes lay elsewhere.
fn moved(archive: &[u8], from: &str, to: &Path) -> Vec<u8> {
    use std::io::Read;
    let mut builder = tar::Builder::new(Vec::new());
    for entry in tar::Archive::new(archive).entries().expect("a tar") {
        let mut entry = entry.expect("whole");
        let mut header = entry.header().clone();
        let name = entry.path().expect("a name").into_owned();
        let mut text = Vec::new();
        entry.read_to_end(&mut text).expect("it is read");
        if name == Path::new("manifest.json") {
            let mut manifest: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
            assert_eq!(manifest["memex"][0].as_str(), Some(from));
            manifest["memex"][0] = to.display().to_string().into();
            text = serde_json::to_vec(&manifest).expect("JSON");
            header.set_size(text.len() as u64);
        }
        builder.append_data(&mut header, &name, text.as_slice()).expect("it is written");
    }
    builder.into_inner().expect("it ends")
}

#[test]
fn a_store_in_use_and_a_damaged_backup_change_nothing() {
    let (home, _) = home();
    let (file, _) = backup(&home, "one.tar", &[]);
    assert_eq!(run(&home, &["restore", &file, "--check", "--json"]).json()["whole"], true);
    let mut daemon = program(&home);
    let mut daemon = daemon.arg("daemon").stderr(Stdio::null()).spawn().expect("it runs");
    while run(&home, &["status"]).status != 0 {
        std::thread::yield_now();
    }
    let ran = run(&home, &["restore", &file, "--force"]);
    assert!(ran.status == 4 && ran.err.contains("is in use by"), "{ran:?}");
    daemon.kill().expect("it can be killed");
    daemon.wait().expect("it ends");
    let whole = std::fs::read(&file).expect("it is there");
    let log = whole.windows(16).position(|part| part == b"store/memory.log").expect("the entry's header");
    let mut flipped = whole.clone();
    flipped[log + 512 + 40] ^= 1;
    let before = std::fs::read(home.store().join("memory.sqlite")).expect("it is there");
    for (name, bytes, says) in [
        ("flipped", flipped, "is not what was written"),
        ("cut", whole[..whole.len() / 2].to_vec(), ""),
        ("none", b"no archive at all".to_vec(), ""),
        ("empty", Vec::new(), "no manifest"),
        ("evil", evil(), "has no place in a backup"),
    ] {
        let bad = base(&home).join(format!("{name}.tar"));
        std::fs::write(&bad, bytes).expect("a file");
        let ran = run(&home, &["restore", &bad.display().to_string(), "--force"]);
        assert!(ran.status == 1 && ran.err.contains(says), "{name}: {ran:?}");
        assert!(ran.err.contains("nothing was put back"), "{name}: {ran:?}");
    }
    assert_eq!(std::fs::read(home.store().join("memory.sqlite")).expect("it is there"), before);
    assert!(!base(&home).join("outside").exists());
}

/// An archive whose entry leads out of where it is put.
fn evil() -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    let name = b"settings/../../outside";
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(4);
    header.set_mode(0o600);
    header.set_cksum();
    builder.append(&header, &b"evil"[..]).expect("it is written");
    builder.into_inner().expect("it ends")
}
