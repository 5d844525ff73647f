//! What is read and written is what was judged: links and folders that are swapped after the survey.

use super::World;
use passepartout::domain::gate::Facts;
use passepartout::domain::gate::facts::{FileKind, PathFact};
use passepartout::edge::actuator::read::judged_text;
use passepartout::edge::actuator::write::replace;
use serde_json::json;
use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::Path;

fn surveyed(world: &World, path: &str) -> Facts {
    world.facts(&world.action("read-file", json!({ "path": path })).unwrap())
}

fn fact(world: &World, path: &str) -> PathFact {
    surveyed(world, path).paths.remove(0)
}

const CHANGED: &str = "it changed after it was judged; nothing was read";

#[test]
fn what_is_read_is_what_was_judged() {
    type Swap = fn(&Path);
    let swaps: &[(&str, Swap)] = &[
        ("nothing", |_| {}),
        ("the file is a link to a secret", |project| {
            std::fs::remove_file(project.join("src/main.rs")).unwrap();
            symlink(project.join(".env"), project.join("src/main.rs")).unwrap();
        }),
        ("the file is a link to a copy of itself", |project| {
            std::fs::rename(project.join("src/main.rs"), project.join("src/copy.rs")).unwrap();
            symlink("copy.rs", project.join("src/main.rs")).unwrap();
        }),
        ("the folder is a link to another one", |project| {
            std::fs::rename(project.join("src"), project.join("old")).unwrap();
            std::fs::create_dir(project.join("other")).unwrap();
            std::fs::write(project.join("other/main.rs"), "a secret\n").unwrap();
            symlink("other", project.join("src")).unwrap();
        }),
        ("the folder is a link to itself, moved", |project| {
            std::fs::rename(project.join("src"), project.join("old")).unwrap();
            symlink("old", project.join("src")).unwrap();
        }),
        ("the folder is another one", |project| {
            std::fs::rename(project.join("src"), project.join("old")).unwrap();
            std::fs::create_dir(project.join("src")).unwrap();
            std::fs::write(project.join("src/main.rs"), "a secret\n").unwrap();
        }),
        ("the file was written", |project| std::fs::write(project.join("src/main.rs"), "more").unwrap()),
    ];
    for (what, swap) in swaps {
        let world = World::new();
        let fact = fact(&world, "src/main.rs");
        swap(Path::new(&world.scope.project));
        let read = judged_text(&fact).map(|decoded| decoded.text.to_string());
        let expected = if *what == "nothing" { Ok("fn main() {}\n".to_string()) } else { Err(CHANGED.to_string()) };
        assert_eq!(read, expected, "{what}");
    }
    let world = World::new();
    let pipe = std::ffi::CString::new(format!("{}/pipe", world.scope.project)).unwrap();
    // A file that became a pipe is neither read nor waited for.
    let mut fact = fact(&world, "README.md");
    std::process::Command::new("mkfifo").arg(pipe.to_str().unwrap()).status().unwrap();
    fact.resolved = pipe.to_str().unwrap().to_string();
    assert_eq!(judged_text(&fact).map(|_| ()), Err("it is no regular file".to_string()));
}

#[test]
fn what_is_written_goes_to_the_folder_that_was_judged() {
    for swapped in [false, true] {
        for link in [false, true] {
            let world = World::new();
            let project = Path::new(&world.scope.project);
            let action = world.action("write-file", json!({"path": "src/new.rs", "content": "mine"})).unwrap();
            let facts = world.facts(&action);
            let place = facts.paths[0].folder;
            assert!(place.is_some());
            if swapped {
                std::fs::rename(project.join("src"), project.join("old")).unwrap();
                match link {
                    true => symlink("old", project.join("src")).unwrap(),
                    false => std::fs::create_dir(project.join("src")).unwrap(),
                }
            }
            let written = replace(Path::new(&facts.paths[0].resolved), None, "mine", place);
            assert_eq!(written.is_ok(), !swapped, "{written:?}");
            for file in ["src/new.rs", "old/new.rs"] {
                assert_eq!(project.join(file).exists(), !swapped && file == "src/new.rs", "{file}, link: {link}");
            }
        }
    }
}

#[test]
fn facts_of_large_files_hold_which_file_it_is_and_when_it_was_changed() {
    let world = World::new();
    let path = Path::new(&world.scope.project).join("large.log");
    let file = File::create(&path).unwrap();
    file.set_len(17 << 20).unwrap();
    let at = |seconds| std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    file.set_modified(at(1000)).unwrap();
    let first = surveyed(&world, "large.log");
    assert_eq!((first.paths[0].kind, first.paths[0].content), (FileKind::File, None));
    assert_eq!(first.hash(), surveyed(&world, "large.log").hash());
    assert!(judged_text(&first.paths[0]).is_err_and(|why| !why.contains("changed")), "NULs are no text");
    let mut hashes = vec![first.hash()];
    let mut changed = |what: &str| {
        assert_eq!(judged_text(&first.paths[0]).map(|_| ()), Err(CHANGED.to_string()), "{what}");
        let hash = surveyed(&world, "large.log").hash();
        assert!(!hashes.contains(&hash), "{what}");
        hashes.push(hash);
    };
    file.set_modified(at(2000)).unwrap();
    changed("its time");
    file.set_len((17 << 20) + 1).unwrap();
    file.set_modified(at(1000)).unwrap();
    changed("its size");
    let other = File::create(path.with_extension("new")).unwrap();
    other.set_len(17 << 20).unwrap();
    other.set_modified(at(1000)).unwrap();
    std::fs::rename(path.with_extension("new"), &path).unwrap();
    changed("another file of the same size and time");
}
