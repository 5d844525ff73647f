//! Commands that are tried out before a human decides: what is found of them, and that the project stays as it was.

use super::*;
use passepartout::domain::gate::clearance::{Rehearsal, may_rehearse};
use passepartout::domain::gate::standard::standard;
use passepartout::domain::port::Surveyor;
use passepartout::edge::survey::{NoVault, Nowhere, Survey};
use std::path::PathBuf;

/// Returns leave to try a command.
async fn rehearsal(world: &World, command: &str) -> Rehearsal {
    let (toolbox, scope) = (Toolbox::builtin(), scope(world));
    let args = serde_json::json!({ "command": command }).as_object().unwrap().clone();
    let action =
        Action::new(&toolbox, "shell", args, Some("It is tried before anybody decides."), Labels::MODEL).unwrap();
    let survey = Survey::new(Arc::new(NoVault), Arc::new(Nowhere), None, Duration::from_secs(10));
    let facts = survey.survey(&action, &scope).await;
    let (tool, set_off) = (toolbox.get("shell").unwrap(), Sensor::UserInput);
    let case = Case { action: &action, tool, scope: &scope, facts: &facts, set_off };
    match judge(&standard(Vec::new()), case, None) {
        Judgement::Parked(trace) => {
            let case = Case { action: &action, tool, scope: &scope, facts: &facts, set_off };
            may_rehearse(&case, &trace).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

/// Returns every file below a folder with its bytes.
fn bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.path().is_dir() {
                true => folders.push(entry.path()),
                false => drop(found.insert(entry.path(), fs::read(entry.path()).unwrap())),
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_and_a_copy_tell_the_same_and_leave_the_project_as_it_was() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    let project = world.project();
    for (name, text) in [
        ("kept.txt", "hunter3"),
        ("a.txt", "1"),
        ("b.txt", "1"),
        ("guarded/.envrc", "1"),
        ("guarded/deep/old", "1"),
        ("plain/deep/c", "1"),
    ] {
        fs::create_dir_all(project.join(name).parent().unwrap()).unwrap();
        fs::write(project.join(name), text).unwrap();
    }
    let before = bytes(&project);
    let command = "echo x > guarded/new; echo y > guarded/deep/old; mv plain/deep moved; rm a.txt; mkdir a.txt; \
                   echo q > a.txt/inside; touch b.txt; cat kept.txt";
    let expected = [
        ("a.txt", false),
        ("a.txt/inside", true),
        ("guarded/deep/old", true),
        ("guarded/new", true),
        ("moved/c", true),
        ("plain/deep/c", false),
    ];
    let below = tempfile::tempdir().unwrap();
    let shell = || {
        Shell::new(
            Launcher::at(&world.path("run")).unwrap(),
            Arc::new(|path| path.ends_with("kept.txt")),
            Limits::USUAL,
        )
    };
    for (kept, shell) in [("layer", shell()), ("copy", shell().copying())] {
        let trial = rehearsal(&world, command).await;
        let tried = shell.rehearse(&trial, below.path(), Duration::from_secs(60)).await.unwrap();
        assert!(tried.ran, "{kept}: {}", tried.text);
        let name = |file: &str| Path::new(file).strip_prefix(&project).unwrap().display().to_string();
        // What was touched counts as changed in a copy alone: there is nothing to compare it with.
        let files: Vec<(String, bool)> = tried
            .files
            .iter()
            .map(|(file, now)| (name(file), now.is_some()))
            .filter(|(file, _)| file != "b.txt")
            .collect();
        assert_eq!(files, expected.map(|(file, there)| (file.to_string(), there)), "{kept}: {}", tried.text);
        assert!(!tried.text.contains("hunter3"), "{kept}: {}", tried.text);
        assert_eq!(bytes(&project), before, "{kept}");
        assert_eq!(fs::read_dir(below.path()).unwrap().count(), 0, "{kept}: what it wrote has gone");
    }
    // A layer stands in the place of the project itself, and a copy does not.
    let whole = rehearsal(&world, &format!("touch {}", project.join("new.txt").display())).await;
    let tried = shell().rehearse(&whole, below.path(), Duration::from_secs(60)).await.unwrap();
    assert_eq!(tried.files.len(), 1, "{}", tried.text);
    let why = shell().copying().rehearse(&whole, below.path(), Duration::from_secs(60)).await.unwrap_err();
    assert!(why.contains("whole path"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_tells_nothing_of_what_a_link_leads_to_and_promises_nothing_that_it_cannot_see() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    let project = world.project();
    let home = world.path("home/keys");
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("key"), "hunter3").unwrap();
    std::os::unix::fs::symlink(&home, project.join("a")).unwrap();
    fs::create_dir_all(project.join("src")).unwrap();
    let deep =
        "mkdir -p d/d/d/d/d/d/d/d; for i in 1 2 3 4 5 6 7 8 9; do mkdir -p m/d; mv d m/d/d; mv m d; done; echo x > f";
    let below = tempfile::tempdir().unwrap();
    let shell = || Shell::new(Launcher::at(&world.path("run")).unwrap(), Arc::new(|_| false), Limits::USUAL);
    for shell in [shell(), shell().copying()] {
        let trial = rehearsal(&world, "rm a; mkdir a; echo theirs > a/key").await;
        let tried = shell.rehearse(&trial, below.path(), Duration::from_secs(60)).await.unwrap();
        assert!(tried.text.contains("+theirs") && !tried.text.contains("hunter3"), "{}", tried.text);
        let trial = rehearsal(&world, deep).await;
        assert!(shell.rehearse(&trial, below.path(), Duration::from_secs(60)).await.is_ok());
        assert_eq!(fs::read_dir(below.path()).unwrap().count(), 0, "what it wrote has gone");
    }
    let trial = rehearsal(&world, "echo x > src/new; chmod 000 src").await;
    let why = shell().rehearse(&trial, below.path(), Duration::from_secs(60)).await.unwrap_err();
    assert!(why.contains("who may use"), "{why}");
    assert_eq!(fs::read_dir(below.path()).unwrap().count(), 0, "what it wrote has gone");
    assert_eq!(fs::read_to_string(home.join("key")).unwrap(), "hunter3");
}

/// Returns whether a folder becomes empty: what is given up goes on a thread of its own.
async fn emptied(folder: &Path) -> bool {
    let empty = async {
        while fs::read_dir(folder).unwrap().next().is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), empty).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_that_takes_too_much_is_not_predicted_and_leaves_nothing() {
    if !possible() {
        return;
    }
    let world = World::new(None);
    let project = world.project();
    fs::write(project.join("a.txt"), "x".repeat(4096)).unwrap();
    let before = bytes(&project);
    let below = tempfile::tempdir().unwrap();
    let usual = TrialLimits { written: 1 << 20, ..TrialLimits::USUAL };
    let brief = TrialLimits { run: Limits { seconds: 1, ..Limits::USUAL }, ..usual };
    let shell = |limits: TrialLimits| {
        Shell::new(Launcher::at(&world.path("run")).unwrap(), Arc::new(|_| false), Limits::USUAL).trying_within(limits)
    };
    let large = "head -c 3000000 /dev/zero > b.bin";
    let many = "head -c 600000 /dev/zero > b.bin; head -c 600000 /dev/zero > c.bin; head -c 600000 /dev/zero > d.bin";
    let most = Duration::from_secs(60);
    for copies in [false, true] {
        let shell = |limits| if copies { shell(limits).copying() } else { shell(limits) };
        for command in [large, many] {
            let why = shell(usual).rehearse(&rehearsal(&world, command).await, below.path(), most).await.unwrap_err();
            assert!(why.contains("more than 1 MB"), "{copies} {command}: {why}");
            assert_eq!(bytes(&project), before, "{copies} {command}");
            assert!(emptied(below.path()).await, "{copies} {command}: what it wrote has gone");
        }
        // What it did until its time was over is told.
        let slow = rehearsal(&world, "echo first > c.txt; sleep 60; echo last > c.txt").await;
        let tried = shell(brief).rehearse(&slow, below.path(), most).await.unwrap();
        assert!(tried.text.contains("Stopped after 1 seconds") && tried.text.contains("+first"), "{}", tried.text);
        assert_eq!(bytes(&project), before, "{copies}");
        assert!(emptied(below.path()).await, "{copies}: what it wrote has gone");
    }
    for (limits, fits) in
        [(TrialLimits { copied: 100, ..usual }, false), (TrialLimits { files: 0, ..usual }, false), (usual, true)]
    {
        let tried = shell(limits).copying().rehearse(&rehearsal(&world, "touch d.txt").await, below.path(), most).await;
        assert_eq!(tried.is_ok(), fits, "{tried:?}");
        assert!(fits || tried.is_err_and(|why| why.contains("the project holds more than")));
        assert!(emptied(below.path()).await, "what was copied has gone");
    }
}
