//! What changes in the memex from outside is in memory a moment later, by its right name.

mod delay;

use crate::support::engine::Home;
use passepartout::domain::focus::{Project, Reach};
use passepartout::domain::label::Privacy;
use passepartout::edge::engine::focus::Turnabout;
use passepartout::edge::engine::{Engine, Notice};
use passepartout::edge::watch::Watch;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A test never hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// An engine that follows its memex.
struct Followed {
    home: Home,
    engine: Arc<Engine>,
    news: Receiver<()>,
    _watch: Watch,
}

impl Followed {
    async fn new(files: &[(&str, &str)]) -> Followed {
        Followed::on(Home::new(files), &[]).await
    }

    /// Follows the memex of a home, and further files or folders.
    async fn on(home: Home, further: &[PathBuf]) -> Followed {
        let (tell, news) = channel();
        let tell = Mutex::new(tell);
        *home.notify.lock().expect("nobody panicked") = Arc::new(move |notice| {
            if matches!(notice, Notice::Status | Notice::Logged(_)) {
                // The test may have ended.
                let _ = tell.lock().map(|tell| tell.send(()));
            }
        });
        let engine = home.engine_with(|config| config.directories.extend_from_slice(further)).await;
        let watch = engine.follow_memex().expect("a thread");
        let followed = Followed { home, engine, news, _watch: watch };
        followed.until("the memex was read", |engine| {
            engine.log_lines(100).iter().any(|line| line.text.starts_with("the memex has"))
        });
        followed
    }

    fn memex(&self) -> PathBuf {
        self.engine.config.directories[0].clone()
    }

    fn until(&self, what: &str, held: impl Fn(&Engine) -> bool) {
        while !held(&self.engine) {
            assert!(self.news.recv_timeout(PATIENCE).is_ok(), "waited for: {what}; memory has {:?}", self.files());
        }
    }

    fn until_files(&self, expect: &[&str]) {
        self.until(&format!("{expect:?}"), |_| self.files() == expect);
    }

    fn until_text(&self, file: &str, words: &str) {
        let file = self.memex().join(file).display().to_string();
        self.until(words, |engine| {
            engine.view().document(&file).is_some_and(|document| document.outline.text.contains(words))
        });
    }

    /// Returns the files of memory, by their names within the memex.
    fn files(&self) -> Vec<String> {
        let (view, memex) = (self.engine.view(), self.memex());
        let short = |file: &str| Path::new(file).strip_prefix(&memex).unwrap_or(Path::new(file)).display().to_string();
        view.documents().map(|document| short(&document.file)).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_come_change_and_go_are_noticed() {
    let followed = Followed::new(&[("a.org", "* One\n")]).await;
    let memex = followed.memex();
    followed.until_files(&["a.org"]);
    fs::write(memex.join("b.org"), "* Two\n").expect("a file");
    followed.until_files(&["a.org", "b.org"]);
    fs::write(memex.join("a.org"), "* One, changed\n").expect("a file");
    followed.until_text("a.org", "changed");
    // As editors and sync tools do it.
    fs::write(memex.join(".a.org.tmp"), "* One, replaced\n").expect("a file");
    fs::rename(memex.join(".a.org.tmp"), memex.join("a.org")).expect("renamed");
    followed.until_text("a.org", "replaced");
    fs::remove_file(memex.join("b.org")).expect("removed");
    followed.until_files(&["a.org"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_that_come_go_and_are_renamed_are_followed() {
    let followed = Followed::new(&[("a.org", "* One\n")]).await;
    let memex = followed.memex();
    let outside = followed.home.folder.path().join("outside");
    fs::create_dir_all(outside.join("deep")).expect("folders");
    fs::write(outside.join("deep/c.org"), "* Three\n").expect("a file");
    fs::rename(&outside, memex.join("in")).expect("moved in");
    followed.until_files(&["a.org", "in/deep/c.org"]);
    fs::rename(memex.join("in"), memex.join("on")).expect("renamed");
    followed.until_files(&["a.org", "on/deep/c.org"]);
    // Under its new name it is watched as well.
    fs::write(memex.join("on/deep/d.org"), "* Four\n").expect("a file");
    followed.until_files(&["a.org", "on/deep/c.org", "on/deep/d.org"]);
    fs::remove_dir_all(memex.join("on")).expect("removed");
    followed.until_files(&["a.org"]);
    // Folders of copies stay out.
    fs::create_dir_all(memex.join(".git/x")).expect("folders");
    fs::write(memex.join(".git/x/e.org"), "* No\n").expect("a file");
    fs::create_dir_all(memex.join("new/er")).expect("folders");
    fs::write(memex.join("new/er/f.org"), "* Six\n").expect("a file");
    followed.until_files(&["a.org", "new/er/f.org"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_file_is_renamed_and_the_focus_follows() {
    let followed = Followed::new(&[("a.org", "* One\n** Below\n"), ("b.org", "* Two\n")]).await;
    let memex = followed.memex();
    let old = memex.join("a.org").display().to_string();
    followed.engine.focus_at(&old, 8).expect("a heading");
    fs::rename(memex.join("a.org"), memex.join("z.org")).expect("renamed");
    followed.until_files(&["b.org", "z.org"]);
    let new = memex.join("z.org").display().to_string();
    let focus = || followed.engine.focus().map(|id| id.to_string());
    followed.until("the focus", |_| focus() == Some(format!("{new}::*One/Below")));
    let note = followed.engine.last_operation().expect("there was one").why.note;
    assert!(note.ends_with(&format!("renamed {old} to {new}")), "{note}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_of_many_files_is_one_change_or_few() {
    let followed = Followed::new(&[("a.org", "* One\n")]).await;
    let memex = followed.memex();
    let before = followed.engine.head().0;
    for n in 0..500 {
        fs::create_dir_all(memex.join(format!("{}", n % 7))).expect("a folder");
        fs::write(memex.join(format!("{}/{n}.org", n % 7)), format!("* Heading {n}\n")).expect("a file");
    }
    followed.until("500 files", |engine| engine.view().len() == 501);
    assert!(followed.engine.head().0 - before < 50, "bursts are joined");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memex_that_vanishes_keeps_what_is_known_until_it_is_back() {
    let followed = Followed::new(&[("a.org", "* One\n")]).await;
    let memex = followed.memex();
    let aside = memex.with_extension("aside");
    fs::rename(&memex, &aside).expect("moved away");
    fs::write(aside.join("a.org"), "* One, meanwhile\n").expect("a file");
    fs::rename(&aside, &memex).expect("moved back");
    followed.until_text("a.org", "meanwhile");
    fs::write(memex.join("b.org"), "* Two\n").expect("a file");
    followed.until_files(&["a.org", "b.org"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_followed_where_it_leads_and_a_loop_of_links_is_named() {
    let followed = Followed::new(&[("a.org", "* One\n")]).await;
    let (memex, outside) = (followed.memex(), followed.home.folder.path().join("far.org"));
    fs::write(&outside, "* Far\n").expect("a file");
    symlink(&outside, memex.join("link.org")).expect("a link");
    symlink(memex.join("y.org"), memex.join("x.org")).expect("a link");
    symlink(memex.join("x.org"), memex.join("y.org")).expect("a link");
    symlink(&memex, memex.join("round")).expect("a link");
    followed.until_files(&["a.org", "link.org"]);
    fs::write(&outside, "* Far away\n").expect("a file");
    followed.until_text("link.org", "away");
    followed.until("the loop is named", |engine| {
        let problems = engine.problems();
        ["x.org", "y.org"].iter().all(|name| problems.iter().any(|problem| problem.contains(name)))
    });
    fs::remove_file(memex.join("x.org")).expect("removed");
    fs::remove_file(memex.join("y.org")).expect("removed");
    followed.until("nothing is wrong any more", |engine| engine.problems().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_names_are_read_or_named() {
    let followed = Followed::new(&[("a.org", "* One\n")]).await;
    let memex = followed.memex();
    fs::write(memex.join("two\nlines.org"), "* Two\n").expect("a file");
    fs::write(memex.join(std::ffi::OsStr::from_bytes(b"not-\xff-utf8.org")), "* Three\n").expect("a file");
    followed.until_files(&["a.org", "two\nlines.org"]);
    followed.until("it is named", |engine| engine.problems().iter().any(|problem| problem.contains("not-")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsaved_buffer_wins_over_the_disk_while_it_lives() {
    let followed = Followed::new(&[("a.org", "* One\n")]).await;
    let memex = followed.memex();
    let file = memex.join("a.org").display().to_string();
    followed.engine.note_open(&file, true);
    followed.engine.take_buffer(&file, "* From the buffer\n".into(), &|| true).expect("it can be read");
    fs::write(&file, "* From the disk\n").expect("a file");
    fs::write(memex.join("b.org"), "* Two\n").expect("a file");
    followed.until_files(&["a.org", "b.org"]);
    followed.until_text("a.org", "From the buffer");
    followed.engine.note_open(&file, false);
    followed.engine.read_changed(&[PathBuf::from(&file)]);
    followed.until_text("a.org", "From the disk");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_agent_sees_follows_a_renamed_file_and_folder() {
    let followed = Followed::new(&[("a.org", "* One\n")]).await;
    let memex = followed.memex();
    fs::create_dir(memex.join("work")).expect("a folder");
    fs::write(memex.join("work/w.org"), "* Job\n").expect("a file");
    followed.until_files(&["a.org", "work/w.org"]);
    let turn = |to: String| followed.engine.turn_focus(Turnabout::To(to));
    turn(memex.join("work").display().to_string()).await.expect("a folder");
    turn(format!("{}::*One", memex.join("a.org").display())).await.expect("a heading");
    fs::rename(memex.join("a.org"), memex.join("z.org")).expect("renamed");
    fs::rename(memex.join("work"), memex.join("labour")).expect("renamed");
    let named = |reach: &Reach| match reach {
        Reach::Project(Project::Node { id: name, .. } | Project::Folder { path: name }) => name.clone(),
        Reach::Memex | Reach::Session => String::new(),
    };
    let expect = [memex.join("labour").display().to_string(), format!("{}::*One", memex.join("z.org").display())];
    followed.until("the focus", |engine| {
        engine.focus_stack().frames().iter().map(|frame| named(&frame.reach)).eq(expect.clone())
    });
    assert_eq!(followed.engine.view_in_sight().nodes().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_the_memex_that_is_one_file_is_followed_whatever_its_name() {
    let home = Home::new(&[("a.org", "* One\n")]);
    let diary = PathBuf::from(home.project("diary.txt"));
    fs::write(&diary, "* Monday\n").expect("a file");
    let followed = Followed::on(home, std::slice::from_ref(&diary)).await;
    let has = |words: &str| {
        let name = diary.display().to_string();
        followed.until(words, |engine| engine.view().text(&name).is_some_and(|text| text.contains(words)));
    };
    has("Monday");
    fs::write(&diary, "* Tuesday\n").expect("a file");
    has("Tuesday");
    fs::write(diary.with_extension("new"), "* Wednesday, by rename\n").expect("a file");
    fs::rename(diary.with_extension("new"), &diary).expect("renamed");
    has("Wednesday");
    fs::write(diary.with_extension("org"), "* Beside it\n").expect("a file");
    fs::write(&diary, "* Thursday\n").expect("a file");
    has("Thursday");
    assert_eq!(followed.files().len(), 2, "what lies beside it is no part of the memex: {:?}", followed.files());
}

/// Titles of the headings of a file that are to be done, and the tags of the file.
fn shaped(engine: &Engine, file: &Path) -> (Vec<String>, Vec<String>) {
    let view = engine.view();
    let Some(card) = view.card(&file.display().to_string()) else { return Default::default() };
    let open = (1..card.len()).filter(|index| card.keyword(*index).is_some_and(|keyword| !keyword.done));
    (open.map(|index| card.title(index).to_string()).collect(), card.tags(0).map(str::to_string).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_file_that_changes_shapes_anew_what_it_sets_up() {
    let followed = Followed::new(&[
        ("a.org", "#+SETUPFILE: base.setup\n* WAIT Tea\n* TODO Water\n"),
        ("b.org", "* WAIT Milk\n"),
        ("base.setup", "#+TODO: TODO WAIT | DONE\n#+FILETAGS: :kitchen:\n"),
    ])
    .await;
    let memex = followed.memex();
    let is = |open: &[&str], tags: &[&str]| {
        followed.until(&format!("{open:?} {tags:?}"), |engine| {
            let found = shaped(engine, &memex.join("a.org"));
            found.0 == open && found.1 == tags
        });
    };
    is(&["Tea", "Water"], &["kitchen"]);
    assert_eq!(shaped(&followed.engine, &memex.join("b.org")), Default::default());
    let root = followed.engine.view().root();
    fs::write(memex.join("base.setup"), "#+TODO: TODO | WAIT DONE\n#+SETUPFILE: more.org\n").expect("a file");
    is(&["Water"], &[]);
    assert_eq!(followed.engine.view().root(), root, "no byte of the notes is another one");
    // What was not there when it was named is taken when it comes, and is no more when it goes.
    fs::write(memex.join("more.org"), "#+FILETAGS: :late:\n").expect("a file");
    is(&["Water"], &["late"]);
    fs::remove_file(memex.join("more.org")).expect("it is there");
    is(&["Water"], &[]);
    let private = |engine: &Engine| {
        let view = engine.view();
        view.card(&memex.join("a.org").display().to_string()).is_some_and(|card| card.privacy(1) == Privacy::Private)
    };
    followed.until("more.org is missed", private);
    fs::write(memex.join("more.org"), "#+PROPERTY: PRIVACY no\n").expect("a file");
    followed.until("more.org says nothing private", |engine| !private(engine));
    fs::remove_file(memex.join("base.setup")).expect("it is there");
    followed.until("base.setup is missed", private);
    followed.until("that it is gone", |engine| {
        let gone = |problem: &String| problem.contains("base.setup") && problem.contains("there is no such file");
        engine.problems().iter().any(gone)
    });
    is(&["Water"], &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_file_that_changed_while_nothing_ran_is_noticed_at_the_start() {
    let home =
        Home::new(&[("a.org", "#+SETUPFILE: base.org\n* WAIT Tea\n"), ("base.org", "#+TODO: TODO WAIT | DONE\n")]);
    // A file that was changed a moment ago is read anew in any case.
    let old = std::time::SystemTime::now() - Duration::from_secs(60);
    let settle = |name: &str| {
        let file = fs::File::options().append(true).open(home.file(name)).expect("a file");
        file.set_modified(old).expect("its time is set");
    };
    settle("a.org");
    settle("base.org");
    let a = PathBuf::from(home.file("a.org"));
    let engine = home.engine().await;
    home.read(&engine).await;
    assert_eq!(shaped(&engine, &a).0, ["Tea"]);
    engine.close().await;
    drop(engine);
    fs::write(home.file("base.org"), "#+TODO: TODO | WAIT\n").expect("a file");
    let engine = home.engine().await;
    home.read(&engine).await;
    assert_eq!(shaped(&engine, &a).0, Vec::<String>::new());
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_changed_setup_file_does_is_stored_and_read_once() {
    let home = Home::new(&[("a.org", "#+SETUPFILE: base.setup\n* Tea\n"), ("base.setup", "#+FILETAGS: :open:\n")]);
    let old = std::time::SystemTime::now() - Duration::from_secs(60);
    let put = |text: &str, seconds: u64| {
        fs::write(home.file("base.setup"), text).expect("a file");
        let file = fs::File::options().append(true).open(home.file("base.setup")).expect("a file");
        file.set_modified(old + Duration::from_secs(seconds)).expect("its time is set");
    };
    put("#+FILETAGS: :open:\n", 0);
    let file = fs::File::options().append(true).open(home.file("a.org")).expect("a file");
    file.set_modified(old).expect("its time is set");
    let privacy = |engine: &Engine| engine.view().card(&home.file("a.org")).map(|card| card.privacy(1));
    let read = |engine: &Arc<Engine>| {
        let engine = engine.clone();
        async move { tokio::task::spawn_blocking(move || engine.read_memex(&mut |_| {})).await.expect("it is read") }
    };
    let engine = home.engine().await;
    read(&engine).await;
    assert_eq!(privacy(&engine), Some(Privacy::Open));
    // While it runs, ...
    put("#+FILETAGS: :private:\n", 1);
    engine.read_changed(&[PathBuf::from(home.file("base.setup"))]);
    assert_eq!(privacy(&engine), Some(Privacy::Private));
    engine.close().await;
    drop(engine);
    let last = |engine: &Engine| engine.head();
    let engine = home.engine().await;
    assert_eq!(privacy(&engine), Some(Privacy::Private), "before the memex is read");
    let before = last(&engine);
    let report = read(&engine).await;
    assert_eq!((report.unchanged, report.documents.len()), (report.files, 0));
    assert_eq!(last(&engine), before);
    engine.close().await;
    drop(engine);
    // ... and while nothing ran.
    put("#+FILETAGS: :open:\n", 2);
    for _ in 0..2 {
        let engine = home.engine().await;
        // What the setup file made private stays so until the user lets it go.
        assert_eq!(privacy(&engine), Some(Privacy::Private), "before the memex is read");
        assert_eq!(engine.rules().into_iter().filter(|rule| rule.state == "waiting").count(), 1);
        let report = read(&engine).await;
        assert_eq!((report.unchanged, report.documents.len()), (report.files, 0));
        assert_eq!(last(&engine), before);
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_buffer_takes_over_what_its_setup_file_says() {
    let home = Home::new(&[
        ("a.org", "#+SETUPFILE: base.setup\n* Tea\n"),
        ("base.setup", "#+FILETAGS: :open:\n"),
        ("b.org", "* Else\n"),
    ]);
    let engine = home.engine().await;
    home.read(&engine).await;
    let file = home.file("a.org");
    engine.note_open(&file, true);
    let ahead = "#+SETUPFILE: base.setup\n* Tea, and not saved\n";
    engine.take_buffer(&file, ahead.into(), &|| true).expect("it can be read");
    fs::write(home.file("base.setup"), "#+PROPERTY: PRIVACY private\n").expect("a file");
    engine.read_changed(&[PathBuf::from(home.file("base.setup"))]);
    let privacy = || engine.view().card(&file).map(|card| card.privacy(1));
    assert_eq!(engine.view().text(&file).as_deref(), Some(ahead));
    assert_eq!(privacy(), Some(Privacy::Private));
    // A warning goes with the line that led to it.
    fs::remove_file(home.file("base.setup")).expect("it is there");
    engine.read_changed(&[PathBuf::from(home.file("base.setup"))]);
    assert_eq!((engine.problems().len(), privacy()), (1, Some(Privacy::Private)));
    engine.take_buffer(&file, "* Tea\n".into(), &|| true).expect("it can be read");
    engine.note_open(&file, false);
    fs::write(&file, "* Tea\n").expect("a file");
    engine.read_changed(&[PathBuf::from(&file)]);
    assert_eq!((engine.problems(), privacy()), (Vec::new(), Some(Privacy::Open)));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_linked_setup_file_is_followed_where_it_leads() {
    let home = Home::new(&[("a.org", "#+SETUPFILE: linked.setup\n* Tea\n"), ("base.setup", "#+FILETAGS: :open:\n")]);
    symlink(home.file("base.setup"), home.file("linked.setup")).expect("a link");
    let engine = home.engine().await;
    home.read(&engine).await;
    let a = PathBuf::from(home.file("a.org"));
    assert_eq!(shaped(&engine, &a).1, ["open"]);
    fs::write(home.file("base.setup"), "#+FILETAGS: :other:\n").expect("a file");
    engine.read_changed(&[PathBuf::from(home.file("base.setup"))]);
    assert_eq!(shaped(&engine, &a).1, ["other"]);
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_file_in_a_linked_folder_is_the_one_that_the_links_lead_to_now() {
    let home = Home::new(&[("a.org", "#+SETUPFILE: theme/base.setup\n* Tea\n")]);
    let memex = PathBuf::from(home.file("a.org")).parent().expect("a folder").to_path_buf();
    for (theme, tags) in [("light", ":light:"), ("dark", ":private:")] {
        fs::create_dir(memex.join(theme)).expect("a folder");
        let text = format!("#+FILETAGS: {tags}\n#+SETUPFILE: ../more.setup\n");
        fs::write(memex.join(theme).join("base.setup"), text).expect("a file");
    }
    // As Org has it, the folder above is that of the name.
    fs::create_dir(memex.join("sub")).expect("a folder");
    fs::rename(memex.join("light"), memex.join("sub/light")).expect("it is moved");
    fs::write(memex.join("more.setup"), "#+FILETAGS: :more:\n").expect("a file");
    let link = |to: &str, name: &str| {
        symlink(to, memex.join("new")).expect("a link");
        fs::rename(memex.join("new"), memex.join(name)).expect("it is put there");
    };
    link("sub/light", "current");
    link("current", "theme");
    let followed = Followed::on(home, &[]).await;
    let a = followed.memex().join("a.org");
    let is = |what: &str, tags: &[&str], wanted: Privacy| {
        followed.until(what, |engine| {
            let view = engine.view();
            let privacy = view.card(&a.display().to_string()).map(|card| card.privacy(1));
            shaped(engine, &a).1 == tags && privacy == Some(wanted)
        });
    };
    is("the folder that is linked", &["light", "more"], Privacy::Open);
    link("dark", "current");
    is("the link behind the link leads elsewhere", &["private", "more"], Privacy::Private);
    link("sub/light", "theme");
    // What a setup file made private stays so until the user lets it go.
    is("the first link leads elsewhere", &["light", "more"], Privacy::Private);
    fs::write(followed.memex().join("sub/light/base.setup"), "#+FILETAGS: :private:\n").expect("a file");
    is("what lies there says something else", &["private"], Privacy::Private);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_linked_folder_of_setup_files_that_changed_while_nothing_ran_is_noticed_at_the_start() {
    let home = Home::new(&[("a.org", "#+SETUPFILE: theme/base.setup\n* Tea\n")]);
    let memex = PathBuf::from(home.file("a.org")).parent().expect("a folder").to_path_buf();
    for (theme, tags) in [("light", ":light:"), ("dark", ":private:")] {
        fs::create_dir(memex.join(theme)).expect("a folder");
        fs::write(memex.join(theme).join("base.setup"), format!("#+FILETAGS: {tags}\n")).expect("a file");
    }
    let old = std::time::SystemTime::now() - Duration::from_secs(60);
    let file = fs::File::options().append(true).open(home.file("a.org")).expect("a file");
    file.set_modified(old).expect("its time is set");
    for (theme, privacy) in [("light", Privacy::Open), ("dark", Privacy::Private)] {
        let _ = fs::remove_file(memex.join("theme"));
        symlink(theme, memex.join("theme")).expect("a link");
        let engine = home.engine().await;
        home.read(&engine).await;
        assert_eq!(engine.view().card(&home.file("a.org")).map(|card| card.privacy(1)), Some(privacy), "{theme}");
        engine.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_file_that_keeps_size_and_time_is_read_anew_all_the_same() {
    let home = Home::new(&[("a.org", "#+SETUPFILE: base.setup\n* Tea\n"), ("base.setup", "#+FILETAGS: :harmless:\n")]);
    let old = std::time::SystemTime::now() - Duration::from_secs(60);
    // As tools do that bring files from elsewhere, with their times.
    let settle = |name: &str| {
        let file = fs::File::options().append(true).open(home.file(name)).expect("a file");
        file.set_modified(old).expect("its time is set");
    };
    settle("a.org");
    settle("base.setup");
    let engine = home.engine().await;
    home.read(&engine).await;
    let privacy = || engine.view().card(&home.file("a.org")).map(|card| card.privacy(1));
    assert_eq!(privacy(), Some(Privacy::Open));
    fs::write(home.file("base.setup"), "#+FILETAGS: :private :\n").expect("a file");
    settle("base.setup");
    engine.read_changed(&[PathBuf::from(home.file("base.setup"))]);
    assert_eq!(privacy(), Some(Privacy::Private));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_file_that_is_too_large_or_no_file_makes_private_what_names_it() {
    let large = format!("#+FILETAGS: :open:\n{}", "x\n".repeat(140_000));
    let home = Home::new(&[
        ("a.org", "#+SETUPFILE: large.setup\n* a\n"),
        ("b.org", "#+SETUPFILE: folder\n* b\n"),
        ("c.org", "#+SETUPFILE: small.setup\n* c\n"),
        ("large.setup", &large),
        ("small.setup", "#+FILETAGS: :open:\n"),
    ]);
    fs::create_dir(home.file("folder")).expect("a folder");
    let engine = home.engine().await;
    home.read(&engine).await;
    let view = engine.view();
    let privacy = |name: &str| view.card(&home.file(name)).map(|card| card.privacy(1));
    assert_eq!(
        ["a.org", "b.org", "c.org"].map(privacy),
        [Some(Privacy::Private), Some(Privacy::Private), Some(Privacy::Open)]
    );
    assert_eq!(engine.problems().len(), 2, "{:?}", engine.problems());
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn setup_files_from_outside_private_and_secret_ones_are_not_read() {
    let home = Home::new(&[
        ("a.org", "#+SETUPFILE: ../project/out.org\n* WAIT a\n"),
        ("b.org", "#+SETUPFILE: https://example.org/theme.setup\n* WAIT b\n"),
        ("c.org", "#+SETUPFILE: diary.org\n* WAIT c\n"),
        ("d.org", "#+SETUPFILE: .env\n* WAIT d\n"),
        ("e.org", "#+SETUPFILE: linked.org\n* WAIT e\n"),
        ("f.org", "#+SETUPFILE: closed.org\n* WAIT f\n"),
        ("g.org", "#+SETUPFILE: file:///memex/diary.org\n* WAIT g\n"),
        ("diary.org", "#+TODO: WAIT | DONE\n* Health :private:\n"),
        (".env", "#+TODO: WAIT | DONE\n"),
        ("closed.org", "#+FILETAGS: :private:\n#+TODO: WAIT | DONE\n"),
    ]);
    fs::write(home.project("out.org"), "#+TODO: WAIT | DONE\n").expect("a file");
    symlink(home.project("out.org"), home.file("linked.org")).expect("a link");
    let engine = home.engine().await;
    home.read(&engine).await;
    for name in ["a.org", "b.org", "c.org", "d.org", "e.org", "g.org"] {
        let file = PathBuf::from(home.file(name));
        assert_eq!(shaped(&engine, &file).0, Vec::<String>::new(), "{name}");
    }
    let said = engine.problems();
    let not_read = ": a #+SETUPFILE line names it, and it is not read: ";
    let mut whys: Vec<&str> = said.iter().map(|text| text.split(not_read).last().unwrap_or(text)).collect();
    whys.sort_unstable();
    assert_eq!(
        whys,
        [
            "it holds private notes; keep settings in a file without them; what it sets up counts as private",
            "it is named by an address; name it by its path; what it sets up counts as private",
            "it is not on this machine, and nothing is fetched",
            "it lies outside the memex; move it into one of its folders; what it sets up counts as private",
            "it lies outside the memex; move it into one of its folders; what it sets up counts as private",
            "its name is that of a file with keys or passwords; what it sets up counts as private",
        ]
    );
    // What makes itself private makes private what it sets up.
    assert_eq!(shaped(&engine, Path::new(&home.file("f.org"))).0, ["f"]);
    let view = engine.view();
    let privacy = |name: &str| view.card(&home.file(name)).map(|card| card.privacy(1));
    assert_eq!(privacy("f.org"), Some(Privacy::Private));
    // What could have done so and was not read does it as well, and what is on another machine never does.
    assert_eq!(["a.org", "c.org", "d.org", "e.org", "g.org"].map(privacy), [Some(Privacy::Private); 5]);
    assert_eq!(privacy("b.org"), Some(Privacy::Open));
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_that_is_saved_is_read_a_moment_later() {
    let followed = Followed::new(&[("a.org", "* One\n")]).await;
    let folder = followed.engine.config.settings.join("skills");
    let _watch = followed.engine.follow_skills().expect("a thread");
    let has = |name: &'static str| {
        move |engine: &Engine| {
            engine.known_skills().iter().any(|known| known.report.name == name && known.skill.is_some())
        }
    };
    // The folder need not be there yet.
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("mine.org"), "#+TITLE: Mine\n* Prompt\nDo.\n").expect("a file");
    followed.until("the skill is there", has("mine"));
    fs::rename(folder.join("mine.org"), folder.join("ours.org")).expect("renamed");
    followed.until("the skill is there under its new name", has("ours"));
    assert!(!has("mine")(&followed.engine));
    // A folder with a SKILL.md counts with all of its files.
    let listed =
        |name: &'static str| move |engine: &Engine| engine.known_skills().iter().any(|known| known.report.name == name);
    fs::create_dir_all(folder.join("forms")).expect("a folder");
    followed.until("the folder is seen", |_| true);
    fs::write(folder.join("forms/SKILL.md"), "---\nname: forms\ndescription: Fills.\n---\nAsk.\n").expect("a file");
    followed.until("its skill is there", listed("forms"));
    let waits = |engine: &Engine| engine.skills().loaded.waiting().map(|it| it.hash()).collect::<Vec<_>>();
    let before = waits(&followed.engine);
    fs::write(folder.join("forms/fields.md"), "Field 12.\n").expect("a file");
    followed.until("a file of it is news", |engine| waits(engine) != before);
}
