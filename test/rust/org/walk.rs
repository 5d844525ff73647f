//! Which files are read.

use passepartout::edge::walk::{org_files, org_files_of};
use std::fs;
use std::path::{Path, PathBuf};

fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in
        ["b.org", "a/x.org", "a-b.org", "a/y.txt", ".hidden.org", ".config/notes.org", ".git/z.org", "deep/er/n.org"]
    {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "* a\n").unwrap();
    }
    dir
}

fn names(root: &Path, found: Vec<Result<PathBuf, passepartout::edge::walk::WalkError>>) -> Vec<String> {
    found
        .into_iter()
        .map(|entry| match entry {
            Ok(path) => path.strip_prefix(root).unwrap_or(&path).display().to_string(),
            Err(error) => error.to_string().replace(&root.display().to_string(), "ROOT"),
        })
        .collect()
}

#[test]
fn files_come_in_byte_order_without_hidden_ones() {
    let dir = tree();
    let found = names(dir.path(), org_files(dir.path()));
    assert_eq!(found, [".config/notes.org", "a-b.org", "a/x.org", "b.org", "deep/er/n.org"]);
}

#[test]
fn paths_are_as_typed() {
    let dir = tree();
    let typed = format!("{}/./deep/../a/", dir.path().display());
    let found = org_files(Path::new(&typed));
    assert_eq!(found[0].as_ref().unwrap(), &dir.path().join("deep/../a/x.org"));
    let file = dir.path().join("a/y.txt");
    assert_eq!(org_files(&file)[0].as_ref().unwrap(), &file);
}

#[test]
fn a_file_named_twice_is_listed_once() {
    let dir = tree();
    let found = org_files_of(&[dir.path().to_path_buf(), dir.path().join("a"), dir.path().join("b.org")]);
    assert_eq!(found.len(), 5);
}

#[cfg(unix)]
#[test]
fn links_loops_and_pipes_do_no_harm() {
    use std::os::unix::fs::symlink;
    let dir = tree();
    symlink(dir.path(), dir.path().join("a/loop")).unwrap();
    symlink(dir.path().join("deep"), dir.path().join("linked.org")).unwrap();
    symlink(dir.path().join("b.org"), dir.path().join("c.org")).unwrap();
    symlink("nowhere", dir.path().join("broken.org")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket.org")).unwrap();
    let found = names(dir.path(), org_files(dir.path()));
    insta::assert_snapshot!(found.join("\n"), @r"
    .config/notes.org
    a-b.org
    a/x.org
    b.org
    ROOT/broken.org: No such file or directory (os error 2); it was left out
    c.org
    deep/er/n.org
    ROOT/socket.org: is not a regular file; it was left out
    ");
}

#[test]
fn what_is_not_there_is_said() {
    let found = org_files(Path::new("/nowhere/at/all"));
    insta::assert_snapshot!(found[0].as_ref().unwrap_err().to_string(), @"/nowhere/at/all: No such file or directory (os error 2); it was left out");
}
