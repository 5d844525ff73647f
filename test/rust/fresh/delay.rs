//! How long it takes until memory has what changed outside: each way of changing files that people use.
//!
//! The delay of each is printed; `make soak` asks that none is longer than two seconds.

use super::Followed;
use crate::support::skip::skipped;
use crate::support::soak::{self, survived};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What happened outside, by the time at which it was done, and the longest delay so far.
struct Delays {
    followed: Followed,
    most: Option<Duration>,
    seen: Vec<(String, Duration)>,
}

impl Delays {
    /// Does something outside, and waits until memory has it.
    #[track_caller]
    fn check(&mut self, what: &str, happens: impl FnOnce(&Path), held: impl Fn(&Followed) -> bool) {
        happens(&self.followed.memex());
        let begun = Instant::now();
        self.followed.until(what, |_| held(&self.followed));
        let delay = begun.elapsed();
        println!("{:>5} ms  {what}", delay.as_millis());
        assert!(self.most.is_none_or(|most| delay <= most), "{what}: {delay:?}");
        self.seen.push((what.to_string(), delay));
    }
}

impl Followed {
    /// Returns whether memory has these words in a file of the memex.
    fn has(&self, file: &str, words: &str) -> bool {
        let file = self.memex().join(file).display().to_string();
        self.engine.view().document(&file).is_some_and(|document| document.outline.text.contains(words))
    }

    fn files_below(&self, folder: &str) -> usize {
        let folder = self.memex().join(folder).display().to_string();
        self.engine.view().cards_below(&folder).count()
    }
}

/// Runs git in a folder, without what the user has set up.
fn git(memex: &Path, words: &[&str]) -> bool {
    let mut git = Command::new("git");
    git.arg("-C").arg(memex).args(["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "gc.auto=0"]);
    git.args(words).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    git.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_changes_outside_is_in_memory_within_two_seconds() {
    let many: usize = soak::asked("FRESH_FILES").unwrap_or(200);
    let most = soak::asked("FRESH_MS").map(Duration::from_millis);
    let followed = Followed::new(&[("a.org", "* One\n** Below\n"), ("b.org", "* Two\n")]).await;
    let mut delays = Delays { followed, most, seen: Vec::new() };
    by_editors(&mut delays);
    by_sync_tools(&mut delays);
    by_git(&mut delays, many);
    of_folders(&mut delays, many);
    of_roots(&mut delays);
    let longest = delays.seen.iter().max_by_key(|(_, delay)| *delay).expect("there are some");
    survived(format!(
        "{} changes outside, {many} files at a time where there are many: the slowest in memory after {} ms ({})",
        delays.seen.len(),
        longest.1.as_millis(),
        longest.0
    ));
}

fn by_editors(delays: &mut Delays) {
    delays.check("a file saved in place", |m| write(&m.join("a.org"), "* Saved\n"), |f| f.has("a.org", "Saved"));
    let renamed = |m: &Path| {
        write(&m.join(".a.org.swp"), "* By rename\n");
        fs::rename(m.join(".a.org.swp"), m.join("a.org")).expect("renamed");
    };
    delays.check("an editor that saves by renaming", renamed, |f| f.has("a.org", "By rename"));
    let backed_up = |m: &Path| {
        fs::rename(m.join("a.org"), m.join("a.org~")).expect("renamed");
        write(&m.join("a.org"), "* With a backup\n");
    };
    delays.check("an editor that makes a backup by renaming", backed_up, |f| f.has("a.org", "With a backup"));
    let emacs = std::env::var("EMACS").unwrap_or_else(|_| "emacs".to_string());
    let lisp = "(progn (goto-char (point-max)) (insert \"* Of another Emacs\\n\") (save-buffer))";
    let memex = delays.followed.memex();
    let saved = Command::new(emacs)
        .args(["-Q", "--batch"])
        .arg(memex.join("b.org"))
        .args(["--eval", lisp])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match saved.is_ok_and(|status| status.success()) {
        true => delays.check("another Emacs that saves", |_| {}, |f| f.has("b.org", "Of another Emacs")),
        false => skipped("there is no Emacs to save a file"),
    }
    let gone = |m: &Path| fs::remove_file(m.join("b.org")).expect("removed");
    delays.check("a file deleted", gone, |f| f.files() == ["a.org"]);
    let back = |m: &Path| write(&m.join("b.org"), "* Two\n");
    delays.check("a file made again", back, |f| f.files() == ["a.org", "b.org"]);
}

fn by_sync_tools(delays: &mut Delays) {
    for (tool, name) in
        [("syncthing", ".syncthing.a.org.tmp"), ("rsync", ".a.org.Xq81Zk"), ("a plain copy", "a.org.part")]
    {
        let words = format!("Brought by {tool}");
        let brought = |m: &Path| {
            write(&m.join(name), &format!("* {words}\n"));
            // The time of the file is that of the other machine.
            let file = fs::File::open(m.join(name)).expect("it is there");
            file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_600_000_000)).expect("a time");
            fs::rename(m.join(name), m.join("a.org")).expect("renamed");
        };
        delays.check(&format!("{tool}, by way of a temporary name"), brought, |f| f.has("a.org", &words));
    }
    let outside = delays.followed.home.folder.path().join("far.org");
    write(&outside, "* Far\n");
    let linked = |m: &Path| std::os::unix::fs::symlink(&outside, m.join("link.org")).expect("a link");
    delays.check("a linked file", linked, |f| f.has("link.org", "Far"));
    delays.check("the file that a link leads to", |_| write(&outside, "* Far away\n"), |f| f.has("link.org", "away"));
    let unlinked = |m: &Path| fs::remove_file(m.join("link.org")).expect("removed");
    delays.check("a link deleted", unlinked, |f| f.files() == ["a.org", "b.org"]);
}

fn by_git(delays: &mut Delays, many: usize) {
    let memex = delays.followed.memex();
    let kept = |n: usize| memex.join(format!("g/{}/{n}.org", n % 7));
    for n in 0..many {
        write(&kept(n), &format!("* Note {n} on the first branch\n"));
    }
    let commit = |branch: &str| {
        git(&memex, &["checkout", "-q", "-b", branch])
            && git(&memex, &["add", "-A"])
            && git(&memex, &["commit", "-q", "-m", branch])
    };
    if !(git(&memex, &["init", "-q"]) && commit("first")) {
        fs::remove_dir_all(memex.join("g")).expect("removed");
        return skipped("there is no git to check files out");
    }
    // The second branch changes most, renames some, deletes some and has a folder of its own.
    for n in 0..many {
        match n % 10 {
            0 => fs::remove_file(kept(n)).expect("removed"),
            1 => fs::rename(kept(n), kept(n).with_extension("moved.org")).expect("renamed"),
            _ => write(&kept(n), &format!("* Note {n} on the second branch\n")),
        }
        write(&memex.join(format!("g/own/deep/{n}.org")), &format!("* Own {n}\n"));
    }
    assert!(commit("second"));
    let has_all = |f: &Followed, branch: &str, count: usize| {
        let last = (many / 10 - 1) * 10 + 2;
        f.files_below("g") == count
            && (2..last).step_by(10).all(|n| f.has(&format!("g/{}/{n}.org", n % 7), &format!("{n} on the {branch}")))
    };
    let second = many * 2 - many / 10;
    delays.check(
        &format!("{} files made, changed, renamed and deleted", 2 * many),
        |_| {},
        |f| has_all(f, "second", second),
    );
    for (branch, count) in [("first", many), ("second", second), ("first", many)] {
        let before = delays.followed.engine.head().0;
        let what = format!("git checkout of {} files", 2 * many);
        delays.check(&what, |m| assert!(git(m, &["checkout", "-q", branch])), |f| has_all(f, branch, count));
        assert!(delays.followed.engine.head().0 - before < 40, "bursts are joined");
    }
}

fn of_folders(delays: &mut Delays, many: usize) {
    let focused = |f: &Followed, file: &str, heading: &str| {
        let name = f.memex().join(file).display().to_string();
        f.engine.focus().is_some_and(|id| id.to_string() == format!("{name}::*{heading}"))
    };
    let made = |m: &Path| {
        (0..many).for_each(|n| write(&m.join(format!("work/deep/{n}.org")), &format!("* Task {n}\n")));
    };
    delays.check(&format!("a folder of {many} files made"), made, |f| f.files_below("work") == many);
    let file = delays.followed.memex().join("work/deep/7.org").display().to_string();
    delays.followed.engine.focus_at(&file, 2).expect("a heading");
    assert!(focused(&delays.followed, "work/deep/7.org", "Task 7"));
    let renamed = |m: &Path| fs::rename(m.join("work"), m.join("labour")).expect("renamed");
    delays.check(&format!("a folder of {many} files renamed"), renamed, |f| {
        f.files_below("work") == 0 && f.files_below("labour") == many && focused(f, "labour/deep/7.org", "Task 7")
    });
    let note = delays.followed.engine.last_operation().expect("there was one").why.note;
    assert!(note.contains("; renamed "), "a rename is a rename: {note}");
    let gone = |m: &Path| fs::remove_dir_all(m.join("labour")).expect("removed");
    delays.check(&format!("a folder of {many} files deleted"), gone, |f| f.files_below("labour") == 0);
    let again = |m: &Path| write(&m.join("labour/deep/again.org"), "* Again\n");
    delays.check("the same folder made again", again, |f| f.has("labour/deep/again.org", "Again"));
    let later = |m: &Path| write(&m.join("labour/deep/again.org"), "* Later\n");
    delays.check("a file in the folder that was made again", later, |f| f.has("labour/deep/again.org", "Later"));
    let swapped = |m: &Path| {
        write(&m.join("new/deep/again.org"), "* Swapped\n");
        fs::rename(m.join("labour"), m.join("old")).expect("renamed");
        fs::rename(m.join("new"), m.join("labour")).expect("renamed");
    };
    delays.check("a folder that takes the name of another", swapped, |f| {
        f.has("labour/deep/again.org", "Swapped") && f.has("old/deep/again.org", "Later")
    });
    for folder in ["labour", "old"] {
        let file = format!("{folder}/deep/again.org");
        let words = format!("In {folder} then");
        delays.check(
            "a file in either of them",
            |m| write(&m.join(&file), &format!("* {words}\n")),
            |f| f.has(&file, &words),
        );
    }
}

fn of_roots(delays: &mut Delays) {
    let memex = delays.followed.memex();
    let aside = memex.with_extension("aside");
    fs::rename(&memex, &aside).expect("moved away");
    let back = |m: &Path| {
        write(&aside.join("a.org"), "* Changed while it was away\n");
        fs::rename(&aside, m).expect("moved back");
    };
    delays.check("the whole memex moved away, changed, and moved back", back, |f| f.has("a.org", "while it was away"));
    let anew = |m: &Path| {
        fs::remove_dir_all(m).expect("removed");
        write(&m.join("sub/only.org"), "* Only\n");
    };
    delays.check("the whole memex deleted and made again", anew, |f| f.files() == ["sub/only.org"]);
    let later = |m: &Path| write(&m.join("sub/only.org"), "* Only this\n");
    delays.check("a file in the memex that was made again", later, |f| f.has("sub/only.org", "Only this"));
}
